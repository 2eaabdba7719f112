// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/devicequota/devicequota/pkg/dispatcher/framework"

// workloadState is where a workload stands, for metrics and the status of queues.
type workloadState int

const (
	// pending workloads wait for a grant.
	pending workloadState = iota
	// inqueue workloads have a grant, and no cluster has accepted them yet.
	inqueue
	// running workloads have been accepted by a cluster.
	running
	// growing workloads run, and wait for a larger grant.
	growing
	// returning workloads leave their clusters, because their grant was taken back.
	returning
	// completed workloads have ended in all their clusters.
	completed
	// deleting workloads are being deleted, and are charged until nothing of them can run.
	deleting

	workloadStates = 7
)

// String returns the label of metrics.
func (s workloadState) String() string {
	return [workloadStates]string{"pending", "inqueue", "running", "growing", "returning", "completed", "deleting"}[s]
}

// stateOf returns where a workload stands.
func stateOf(w *framework.Workload) workloadState {
	switch {
	case w.State.Deleting:
		return deleting
	case w.Returns():
		return returning
	case w.State.Finished:
		return completed
	case w.State.Grant == nil:
		return pending
	case w.Grows():
		return growing
	case w.State.NotPlaced:
		return inqueue
	default:
		return running
	}
}

// workloadCounts is the number of workloads in each state.
type workloadCounts [workloadStates]int32

// countWorkloads counts the workloads of each queue. Those whose queue does not exist are under the empty name.
func countWorkloads(snapshot *framework.Snapshot) map[string]*workloadCounts {
	counts := make(map[string]*workloadCounts, len(snapshot.Queues)+1)
	for name := range snapshot.Queues {
		counts[name] = &workloadCounts{}
	}
	counts[noQueue] = &workloadCounts{}
	for _, w := range snapshot.Workloads {
		counts[queueLabel(snapshot, w.Queue)][stateOf(w)]++
	}
	return counts
}

// noQueue is the label of queues that do not exist. Users write their names, and could write any number of them.
const noQueue = ""

func queueLabel(snapshot *framework.Snapshot, queue string) string {
	if snapshot.Queues[queue] == nil {
		return noQueue
	}
	return queue
}
