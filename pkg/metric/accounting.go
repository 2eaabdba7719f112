// SPDX-License-Identifier: Apache-2.0

package metric

import "slices"

// Metrics of the record of usage.
var (
	DeviceSeconds         = used("device", "Devices", "device-seconds", "device_class")
	DeviceCapacitySeconds = used("device_capacity", "Capacity of devices", "that of the capacity, times seconds", "device_class", "capacity")
	CardSeconds           = used("card", "Cards", "card-seconds", "card")
	ResourceSeconds       = used("resource", "Amount of a resource", "that of the resource, times seconds", "resource")

	GuaranteedIdleSeconds = lasting("guaranteed_idle", "What the queue is guaranteed and does not use, times the seconds for which that lasted")
	WaitedSeconds         = lasting("waited", "What pods and jobs of the queue request and do not have, times the seconds for which they waited")

	UsageRecorded = Metric{
		Name: volcano + "usage_recorded_timestamp_seconds", Type: Gauge, Unit: "seconds since 1970",
		Help: "The time up to which the record of usage is complete",
	}
)

// UsedSeconds are the metrics of held amounts. Each is for the kind of dimensions with its labels. A metric with all labels of another one
// comes after it.
var UsedSeconds = []Metric{DeviceSeconds, DeviceCapacitySeconds, CardSeconds, ResourceSeconds}

func used(name, what, unit string, labels ...string) Metric {
	return Metric{
		Name: volcano + "queue_" + name + "_seconds_total", Type: Counter, Labels: append(append([]string{"queue"}, labels...), "namespace"), Unit: unit,
		Help: what + " times the seconds for which pods of the queue held them",
	}
}

func lasting(name, help string) Metric {
	return Metric{
		Name: volcano + "queue_" + name + "_seconds_total", Type: Counter, Labels: []string{"queue", "device_class", "capacity", "card", "resource"},
		Unit: "that of what is counted, times seconds", Help: help,
		Note: "The labels of what is not counted are empty",
	}
}

func accountingGroup() Group {
	return Group{
		Title:   "The record of usage",
		Metrics: append(slices.Clip(UsedSeconds), GuaranteedIdleSeconds, WaitedSeconds, UsageRecorded),
		About: "These counters do not begin at zero when the scheduler starts. With the argument `accountingLabel`, usage also has a label " +
			"`label_<name>`. Resources are those in `accountingResources`. See [accounting.md](accounting.md).",
	}
}

// BuildInfo is the metric of a program's version and sources.
var BuildInfo = Metric{
	Name: "devicequota_build_info", Type: Gauge, Labels: []string{"version", "commit", "date", "go_version", "volcano_version"}, Unit: "1",
	Help: "What the program was built from; always 1",
	Note: "The scheduler and the dispatcher have it",
}
