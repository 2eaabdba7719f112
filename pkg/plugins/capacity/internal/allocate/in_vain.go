// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// inVain says which groups of pods upstream's action need not try, because it has tried others in the same HyperNode. Each group asks all nodes again: a job of
// thousands of groups took seconds of each session.
type inVain struct {
	*Action
	job *api.JobInfo
	// within is the HyperNode in which the job is being placed.
	within string
	// last is the group that was tried last. The job had this number of waiting pods before.
	last    *api.SubJobInfo
	waiting int
	// failed has what the groups look like that got nothing.
	failed map[string]bool
	// groups has the number of groups of each policy that are ready, or wait for leaving pods, or may still do so, and pods the number of pods that the job has
	// or may still get.
	groups map[api.SubJobGID]int32
	pods   int
}

func (v *inVain) begin(within string) {
	v.within, v.last, v.failed, v.groups, v.pods = within, nil, map[string]bool{}, map[api.SubJobGID]int32{}, len(v.job.Tasks)
	for _, group := range v.job.SubJobs {
		v.groups[group.GID]++
	}
}

// skips reports whether a group would get nothing in a HyperNode, or whether its job cannot start there whatever the group gets. Upstream's action asks this
// before it tries a group.
func (v *inVain) skips(group *api.SubJobInfo, within string) bool {
	if v.within != within {
		v.begin(within)
	}
	if v.last != nil && len(v.job.TaskStatusIndex[api.Pending]) == v.waiting {
		v.fail(v.last)
		if looks, ok := v.looksOf(v.last); ok {
			v.failed[looks] = true
		}
	}
	v.last, v.waiting = group, len(v.job.TaskStatusIndex[api.Pending])
	skips := v.doomed()
	if !skips && len(v.failed) > 0 {
		looks, ok := v.looksOf(group)
		skips = ok && v.failed[looks]
	}
	if skips {
		v.fail(group)
		v.last = nil
	}
	return skips
}

// pending returns the waiting pods of a group. Upstream's action also leaves those among them that got nodes: it gives these to copies of the pods.
func (v *inVain) pending(group *api.SubJobInfo) []*api.TaskInfo {
	return slices.DeleteFunc(slices.Collect(maps.Values(group.TaskStatusIndex[api.Pending])), func(task *api.TaskInfo) bool {
		return v.job.TaskStatusIndex[api.Pending][task.UID] == nil
	})
}

// fail notes that a group gets nothing.
func (v *inVain) fail(group *api.SubJobInfo) {
	for _, task := range v.pending(group) {
		if !task.Resreq.IsEmpty() { // pods without requests count for the minimum
			v.pods--
		}
	}
	if !v.session.SubJobReady(v.job, group) && !v.session.SubJobPipelined(v.job, group) {
		v.groups[group.GID]--
	}
}

// doomed reports whether the job cannot start any more. What a group does not get at first, it does not get later.
func (v *inVain) doomed() bool {
	if v.pods < int(v.job.MinAvailable) {
		return true
	}
	for policy, least := range v.job.MinSubJobs {
		if v.groups[policy] < least {
			return true
		}
	}
	return false
}

// looksOf returns what the waiting pods of a group look like, in the order in which they are tried: it decides which of them get what. Of two groups that look
// alike, the second one gets nothing if the first one got nothing. The result is false if that is not sure, as it is while pods are sent to nodes.
func (v *inVain) looksOf(group *api.SubJobInfo) (string, bool) {
	if !v.filters || v.placements.Follows() {
		return "", false
	}
	tasks, looks := v.pending(group), sha256.New()
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int {
		if v.session.TaskOrderFn(a, b) {
			return -1
		}
		return 1
	})
	fmt.Fprint(looks, group.GID, " ", group.AllocatedHyperNode, " ", group.MinAvailable-group.ReadyTaskNum(), " ", group.WaitingTaskNum())
	for _, task := range tasks {
		if namesClaim(&task.Pod.Spec) || task.SchGated || v.session.PrePredicateFn(task) != nil {
			return "", false
		}
		signed, ok := v.sign(task)
		if !ok {
			return "", false
		}
		fmt.Fprintf(looks, " %q %x", task.TaskRole, signed)
	}
	return string(looks.Sum(nil)), true
}
