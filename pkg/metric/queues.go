// SPDX-License-Identifier: Apache-2.0

package metric

const volcano = "volcano_"

// ResourceAmounts are the metrics of the amounts that queues hold and may hold of cpu, memory, or other resources. Volcano has them for
// each queue.
type ResourceAmounts struct {
	Allocated, Request, Deserved, Capacity, RealCapacity Metric
}

func (a *ResourceAmounts) list() []Metric {
	return []Metric{a.Allocated, a.Request, a.Deserved, a.Capacity, a.RealCapacity}
}

// resourceAmounts returns the metrics with a prefix and a suffix.
func resourceAmounts(prefix, suffix, what, unit string, labels ...string) ResourceAmounts {
	of := func(name, help string) Metric {
		return Metric{
			Name: prefix + "queue_" + name + "_" + suffix, Type: Gauge, Labels: append([]string{"queue_name"}, labels...),
			Unit: unit, Help: what + " " + help,
		}
	}
	return ResourceAmounts{
		Allocated:    of("allocated", "that is charged to the queue and to the queues below it"),
		Request:      of("request", "that pods and jobs of the queue hold or wait for"),
		Deserved:     of("deserved", "that the queue is owed"),
		Capacity:     of("capacity", "that the queue, or the nearest queue above it that limits it, may hold at most"),
		RealCapacity: of("real_capacity", "that the queue can hold at most, given all queues above it and the guarantees of others"),
	}
}

// The metrics of resources in Volcano's scheduler.
var (
	QueueCPU    = resourceAmounts(volcano, "milli_cpu", "CPU", "thousandths of a core")
	QueueMemory = resourceAmounts(volcano, "memory_bytes", "Memory", "bytes")
	QueueScalar = resourceAmounts(volcano, "scalar_resources", "Amount of the resource", "thousandths", "resource")
)

// Other metrics of queues in Volcano's scheduler.
var (
	QueueShare = Metric{
		Name: volcano + "queue_share", Type: Gauge, Labels: []string{"queue_name"}, Unit: "fraction",
		Help: "Fraction of what the queue deserves that it holds, in the dimension where that is the largest",
	}
	QueueOverused = Metric{
		Name: volcano + "queue_overused", Type: Gauge, Labels: []string{"queue_name"}, Unit: "1 or 0",
		Help: "1 if the queue holds more than it deserves",
		Note: "Updated only when Volcano's action `reclaim` asks about a pod without devices and limited cards",
	}
)

// CountedAmounts are the metrics of the cards, devices, or capacities of devices that queues hold and may hold. A metric without a name
// does not exist.
type CountedAmounts struct {
	Capability, Deserved, Guarantee, Allocated, Inqueue, Request, Either, Capacity Metric
}

func (a *CountedAmounts) list() []Metric {
	var all []Metric
	for _, m := range []Metric{a.Capability, a.Deserved, a.Guarantee, a.Allocated, a.Inqueue, a.Request, a.Either, a.Capacity} {
		if m.Name != "" {
			all = append(all, m)
		}
	}
	return all
}

// counted returns the metrics of one kind without notes.
func counted(prefix, kind, what, unit string, labels ...string) CountedAmounts {
	of := func(name, help string) Metric {
		return Metric{
			Name: prefix + "queue_" + kind + "_" + name, Type: Gauge, Labels: append([]string{"queue"}, labels...), Unit: unit, Help: what + " " + help,
		}
	}
	return CountedAmounts{
		Capability: of("capability", "that the queue may hold at most by its own quota"),
		Deserved:   of("deserved", "that the queue is owed: up to this it may take back what others have borrowed"),
		Guarantee:  of("guarantee", "that are kept free for the queue, used or not"),
		Allocated:  of("allocated", "that pods of the queue and of the queues below it hold"),
		Inqueue:    of("inqueue", "that jobs which have been admitted may still take"),
		Request:    of("request", "that pods hold or wait for, and that jobs without pods wait for, without those that pods may choose"),
		Either:     of("either", "that pods wait for and may choose instead of others: each of these pods counts in the series of each choice"),
		Capacity:   of("capacity", "that the queue can hold at most, given its own quota, those of the queues above it, and the guarantees of others"),
	}
}

// QueueCards are the metrics of cards.
var QueueCards = func() CountedAmounts {
	all := counted(volcano, "card", "Cards", "cards", "card")
	all.Inqueue = Metric{}
	all.Deserved.Note = "For a queue that deserves no cards, it is what its own card quota lists, which is then only a limit"
	return all
}()

// QueueDevices are the metrics of devices.
var QueueDevices = func() CountedAmounts {
	const whichLimit = "See [which limit holds](quota.md#which-limit-holds)"
	all := counted(volcano, "device_class", "Devices", "devices", "device_class")
	all.Capability.Note = "The field `spec.dra` of the queue, if it limits the class"
	all.Deserved.Note, all.Capacity.Note = whichLimit, whichLimit+". No series if there is no limit"
	return all
}()

// QueueDeviceCapacities are the metrics of capacities of devices, such as memory.
var QueueDeviceCapacities = func() CountedAmounts {
	all := counted(volcano, "device_capacity", "Capacity of devices", "that of the capacity: bytes for memory", "device_class", "capacity")
	all.Capacity = Metric{}
	all.Guarantee.Help = "Capacity of devices that is kept free for the queue, used or not"
	return all
}()

func queueGroups() []Group {
	resources := append(append(append(QueueCPU.list(), QueueMemory.list()...), QueueScalar.list()...), QueueShare, QueueOverused)
	return []Group{
		{
			Title: "Resources of queues", Foreign: true, Metrics: resources,
			About: "Volcano's scheduler has these metrics, too, under the same names. The scheduler updates them at the start and at the end of each " +
				"cycle. What a pipelined pod is promised is not allocated, because nobody holds it yet. All metrics named `request` include " +
				"what jobs without pods need that wait to be admitted to their queue, from the second cycle on.",
		},
		{
			Title: "Devices of queues", Metrics: append(QueueDevices.list(), QueueDeviceCapacities.list()...),
			About: "There are series for what a queue limits, is owed, or uses. See [quota.md](quota.md).",
		},
		{Title: "Cards of queues", Metrics: QueueCards.list(), About: "See [cards.md](cards.md)."},
	}
}
