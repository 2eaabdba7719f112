// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/devicequota/devicequota/pkg/dispatcher/framework"

// workloadState is the state of a workload, for metrics and the status of queues.
type workloadState int

const (
	// pending workloads wait for a grant.
	pending workloadState = iota
	// inqueue workloads have a grant, but no cluster has accepted them yet.
	inqueue
	// running workloads have been accepted by a cluster.
	running
	// growing workloads run, and wait for a larger grant.
	growing
	// returning workloads leave their clusters, because their grant was taken back.
	returning
	// completed workloads have ended in all their clusters.
	completed
	// deleting workloads are being deleted. They are charged until nothing of them can run.
	deleting

	workloadStates = 7
)

// String returns the label of the state in metrics.
func (s workloadState) String() string {
	return [workloadStates]string{"pending", "inqueue", "running", "growing", "returning", "completed", "deleting"}[s]
}

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

// countWorkloads counts the workloads of each queue. Workloads of queues that do not exist are under noQueue.
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

// noQueue is the label for queues that do not exist. Their real names could be any number of series.
const noQueue = ""

func queueLabel(snapshot *framework.Snapshot, queue string) string {
	if snapshot.Queues[queue] == nil {
		return noQueue
	}
	return queue
}
