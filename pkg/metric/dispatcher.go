// SPDX-License-Identifier: Apache-2.0

package metric

import "github.com/prometheus/client_golang/prometheus"

const dispatcher = volcano + "dispatcher_"

// The dispatcher's metrics of queues. Their names are like those of the scheduler.
var (
	DispatcherCPU    = resourceAmounts(dispatcher, "milli_cpu", "CPU", "thousandths of a core")
	DispatcherMemory = resourceAmounts(dispatcher, "memory_bytes", "Memory", "bytes")
	DispatcherScalar = resourceAmounts(dispatcher, "scalar_resources", "Amount of the resource", "thousandths", "resource")

	DispatcherCards            = dispatcherAmounts("card", "Cards", "cards", "card")
	DispatcherDevices          = dispatcherAmounts("device_class", "Devices", "devices", "device_class")
	DispatcherDeviceCapacities = dispatcherAmounts("device_capacity", "Capacity of devices", "that of the capacity: bytes for memory", "device_class", "capacity")

	DispatcherShare = Metric{
		Name: dispatcher + "queue_share", Type: Gauge, Labels: []string{"queue_name"}, Unit: "fraction",
		Help: "Fraction of what the queue deserves that is charged to it",
	}
)

// dispatcherAmounts omits the amounts that admitted jobs may still take. On Karmada's API server, a granted workload holds everything that
// it needs.
func dispatcherAmounts(kind, what, unit string, labels ...string) CountedAmounts {
	all := counted(dispatcher, kind, what, unit, labels...)
	all.Inqueue, all.Either = Metric{}, Metric{}
	all.Allocated.Help = what + " that are charged to the queue and to the queues below it"
	all.Request.Help = what + " that workloads hold or wait for"
	return all
}

// Metrics of the dispatcher's work.
var (
	DispatcherWorkloads = Metric{
		Name: dispatcher + "workloads", Type: Gauge, Labels: []string{"queue", "state"}, Unit: "workloads",
		Help: "Number of workloads, by queue and state. Those whose queue does not exist have an empty queue",
		Note: "The states are `pending`, `inqueue`, `running`, `growing` (running, and the growth is held), `returning` (leaving their " +
			"clusters), `completed`, and `deleting`",
	}
	DispatcherStillRuns = Metric{
		Name: dispatcher + "still_running_workloads", Type: Gauge, Labels: []string{"queue"}, Unit: "workloads",
		Help: "Number of workloads that were told to end or to shrink longer ago than their pods may take, and of which a member cluster still runs more, or that Karmada has lost. Those whose queue does not exist have an empty queue",
		Note: "There is no series for a queue without such workloads",
	}
	DispatcherDecisions = Metric{
		Name: dispatcher + "decisions_total", Type: Counter, Labels: []string{"decision", "queue"}, Unit: "decisions",
		Help: "Number of decisions that were not the same in the cycle before, by kind and queue. Those of workloads whose queue does not exist have an empty queue",
		Note: "The kinds are `held`, `granted`, `growth_held`, `growth_granted`, `shrunk`, `adopted`, `taken_back`, `reclaimed`, `returned`, `finished`, " +
			"`still_charged`, and `still_runs`",
	}
	DispatcherCycleDuration = Metric{
		Name: dispatcher + "cycle_duration_seconds", Type: Histogram, Unit: "seconds",
		Help: "Seconds that a cycle took", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
	}
	DispatcherPatches = Metric{
		Name: dispatcher + "api_patches_total", Type: Counter, Labels: []string{"patch", "result"}, Unit: "requests",
		Help: "Number of requests that change objects, by what they change and their result: success, conflict, or failure",
		Note: "`patch` is the decision that is carried out, `bookkeeping` (the finalizer, the record of grants in vain, and where workloads run), `hold_growth`, " +
			"`queue_status`, or `queue_usage`",
	}
)

func dispatcherGroups() []Group {
	queues := append(append(append(DispatcherCPU.list(), DispatcherMemory.list()...), DispatcherScalar.list()...), DispatcherShare)
	for _, amounts := range []CountedAmounts{DispatcherDevices, DispatcherDeviceCapacities, DispatcherCards} {
		queues = append(queues, amounts.list()...)
	}
	return []Group{
		{
			Title: "Queues of the dispatcher", Metrics: queues,
			About: "What is said of queues is that of the last cycle. The dispatcher that leads has all metrics, and the others have none of queues. " +
				"The series of a queue end with the queue. There is no series for a limit that is not there. See [multicluster.md](multicluster.md).",
		},
		{Title: "What the dispatcher does", Metrics: []Metric{DispatcherWorkloads, DispatcherStillRuns, DispatcherDecisions, DispatcherCycleDuration, DispatcherPatches}},
	}
}
