// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"maps"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// sameTask reports whether a copy of a task still is what TaskInfo.Clone makes of its source. Everything else depends on the pod. Whoever changes the amounts of
// a task changes those of its node and its job with them.
func sameTask(source, info *api.TaskInfo) bool {
	return info.Pod == source.Pod && info.TransactionContext == api.TransactionContext{NodeName: source.NodeName, Status: source.Status} &&
		sameTransaction(source.LastTransaction, info.LastTransaction) && info.VolumeReady == source.VolumeReady && info.BestEffort == source.BestEffort &&
		info.CustomBindErrHandler == nil && !info.CustomBindErrHandlerSucceeded && len(source.NumaInfo.ResMap)+len(info.NumaInfo.ResMap) == 0
}

func sameTransaction(a, b *api.TransactionContext) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sameResource compares field by field: a scalar resource of zero is not the same as none.
func sameResource(a, b *api.Resource) bool {
	return a.MilliCPU == b.MilliCPU && a.Memory == b.Memory && a.MaxTaskNum == b.MaxTaskNum && maps.Equal(a.ScalarResources, b.ScalarResources)
}

// sameTasks reports whether copies of tasks are current.
func sameTasks(sources, infos map[api.TaskID]*api.TaskInfo) bool {
	if len(sources) != len(infos) {
		return false
	}
	for id, source := range sources {
		if info := infos[id]; info == nil || !sameTask(source, info) {
			return false
		}
	}
	return true
}
