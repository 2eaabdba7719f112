// SPDX-License-Identifier: Apache-2.0

package workload

// Managed reports whether the dispatcher manages a workload: it names a queue, is for Volcano, or all workloads are managed.
// A DaemonSet without a queue is never managed: it cannot be counted, so the agents of nodes would never run.
func (t *Template) Managed(withoutQueue bool) bool {
	// A template of a known kind has no pods if the object could not be counted.
	isWorkload := !t.Fallback || len(t.Pods) > 0
	return t.Queue != "" || t.ForVolcano || withoutQueue && isWorkload && t.Kind != DaemonSet.Kind
}
