// SPDX-License-Identifier: Apache-2.0

package metric

import "github.com/prometheus/client_golang/prometheus"

// Metrics of queues about the fate of their pods.
var (
	QueueWaitingPods = Metric{
		Name: volcano + "queue_waiting_pods", Type: Gauge, Labels: []string{"queue", "reason"}, Unit: "pods",
		Help: "Number of pods that the plugin capacity lets wait, by queue and by the reason of the event on the pod or on its PodGroup",
		Note: "A job that is not admitted to its queue counts with the pods that it has at least, even if they do not exist yet. " +
			"The reason is `Unschedulable` if there is no event, as in the condition `Waiting` of PodGroups",
	}
	QueueEvictions = Metric{
		Name: volcano + "queue_evictions_total", Type: Counter, Labels: []string{"action", "queue", "for_queue"}, Unit: "pods",
		Help: "Number of pods that were evicted so that another pod starts, by action, queue of the evicted pod, and queue of the other pod",
		Note: "See [elasticity.md](elasticity.md)",
	}
	EvictionPromiseDuration = Metric{
		Name: volcano + "eviction_promise_duration_seconds", Type: Histogram, Labels: []string{"action"}, Unit: "seconds",
		Help: "Seconds from when evictions promise a node to a pod until the pod is bound to a node, by action",
		// From half a second, in which pods without a grace period leave, to more than an hour.
		Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
	}
)

// Metrics of problems.
var (
	QueueProblems = Metric{
		Name: volcano + "queue_problems", Type: Gauge, Labels: []string{"reason"}, Unit: "queues",
		Help: "Number of queues that have a problem, by the reason of the event on them",
		Note: "See [troubleshooting.md](troubleshooting.md)",
	}
	QuotaFieldServed = Metric{
		Name: volcano + "queue_quota_field_served", Type: Gauge, Unit: "1 or 0",
		Help: "1 if the API server serves the field spec.dra of queues, 0 if the Queue CRD lacks it",
		Note: "No series until the API server has answered",
	}
	ConfigurationValid = Metric{
		Name: volcano + "scheduler_configuration_valid", Type: Gauge, Unit: "1 or 0",
		Help: "1 if the scheduler's configuration is what its file says, 0 if the file has a mistake, so that the last valid configuration stays in force",
		Note: "See [install.md](install.md#your-own-configuration)",
	}
	StaleCopies = Metric{
		Name: volcano + "scheduler_stale_copies_total", Type: Counter, Unit: "copies",
		Help: "Number of copies of nodes and jobs that sessions used although they were not current any more, which is a fault in the scheduler",
		Note: "Each copy is compared now and then. See [performance.md](performance.md#the-whole-scheduler)",
	}
	UnattributedPods = Metric{
		Name: volcano + "unattributed_pods", Type: Gauge, Unit: "pods",
		Help: "Number of running pods that are charged to queue root, because nobody knows which queue they came from",
		Note: "See [who is charged](quota.md#who-is-charged)",
	}
	UnattributedClaims = Metric{
		Name: volcano + "unattributed_claims", Type: Gauge, Unit: "claims",
		Help: "Number of allocated ResourceClaims that are charged to queue root, because nobody knows which queue they came from",
	}
	DevicesAllocatedTwice = Metric{
		Name: volcano + "devices_allocated_twice", Type: Gauge, Unit: "devices",
		Help: "Number of devices that several ResourceClaims have beyond what sharing allows",
	}
	ClusterCards = Metric{
		Name: volcano + "cluster_cards", Type: Gauge, Labels: []string{"card"}, Unit: "cards",
		Help: "Cards that the nodes of the cluster offer, by card",
	}
	ClusterCapacity    = clusterAmount("capacity", "What the nodes of the cluster have, in use or not")
	ClusterUsed        = clusterAmount("used", "What pods have of the cluster")
	ClusterFree        = clusterAmount("free", "What can be given to pods now")
	ClusterLargestFree = clusterAmount("largest_free_on_a_node", "The most that is free on one node")
)

func clusterAmount(name, help string) Metric {
	return Metric{
		Name: volcano + "cluster_" + name, Type: Gauge, Labels: []string{"kind", "dimension"}, Unit: "that of the dimension: cores, bytes, cards, or devices",
		Help: help + ", by `Resource`, `Card`, and `Device`",
		Note: "Updated every 15 seconds",
	}
}

// Metrics of sessions in Volcano's scheduler.
var (
	SessionDuration = Metric{
		Name: volcano + "e2e_scheduling_latency_milliseconds", Type: Histogram, Unit: "milliseconds",
		Help: "Time that a session takes, from its opening to its end",
	}
	ActionDuration = Metric{
		Name: volcano + "action_scheduling_latency_milliseconds", Type: Histogram, Labels: []string{"action"}, Unit: "milliseconds",
		Help: "Time that an action takes in a session",
	}
	PluginDuration = Metric{
		Name: volcano + "plugin_scheduling_latency_milliseconds", Type: Histogram, Labels: []string{"plugin", "OnSession"}, Unit: "milliseconds",
		Help: "Time that a plugin takes to open and to close a session",
	}
)

// Leader reports which replica leads. Kubernetes' client defines it, for the scheduler and for the dispatcher.
var Leader = Metric{
	Name: "leader_election_master_status", Type: Gauge, Labels: []string{"name"}, Unit: "1 or 0",
	Help: "1 if this replica leads, by the name of the lease",
	Note: "The lease of the scheduler is `volcano`, unless `--leader-elect-resource-name` is set. That of the dispatcher is `vc-dispatcher`. " +
		"No series with `--leader-elect=false`",
}

// The names of the leases.
const (
	SchedulerLease  = "volcano"
	DispatcherLease = "vc-dispatcher"
)

func schedulerGroups() []Group {
	return []Group{
		{Title: "Pods that wait or are evicted", Metrics: []Metric{QueueWaitingPods, QueueEvictions, EvictionPromiseDuration}},
		{
			Title:   "Problems and the cluster",
			Metrics: []Metric{QueueProblems, QuotaFieldServed, ConfigurationValid, StaleCopies, UnattributedPods, UnattributedClaims, DevicesAllocatedTwice, ClusterCards, ClusterCapacity, ClusterUsed, ClusterFree, ClusterLargestFree},
		},
		{
			Title: "Sessions and leader", Foreign: true, Metrics: []Metric{SessionDuration, ActionDuration, PluginDuration, Leader},
			About: "Volcano and Kubernetes define these metrics and many more. The alerts and the dashboard read those below.",
		},
	}
}
