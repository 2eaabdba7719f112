// SPDX-License-Identifier: Apache-2.0

package workload

// Managed reports whether the dispatcher manages a workload: it names a queue, or is meant for Volcano, or all workloads
// are managed. Nobody can count a DaemonSet, so that the agents of nodes, which name no queue, would never run.
func (t *Template) Managed(withoutQueue bool) bool {
	// A template of a known kind has no pods if they cannot be counted.
	isWorkload := !t.Fallback || len(t.Pods) > 0
	return t.Queue != "" || t.ForVolcano || withoutQueue && isWorkload && t.Kind != DaemonSet.Kind
}
