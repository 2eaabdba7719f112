// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/devicequota/devicequota/pkg/metric"
)

// query is a line of a panel: an expression and the name of its series.
type query struct{ expr, legend string }

// panel is a panel of the dashboard.
type panel struct {
	title, about string
	// unit is one of Grafana's units, and memory whether series of memory have bytes nevertheless.
	unit    string
	memory  bool
	queries []query
	// stat shows the last value in colour, which is green if the value is good. Other panels show lines.
	stat *threshold
}

// threshold is the least good or bad number.
type threshold struct {
	from float64
	good bool
}

// row is a row of panels with a title.
type panelRow struct {
	title string
	// shown is the number of panels in one line.
	shown  int
	panels []panel
}

var (
	bad  = &threshold{from: 1}
	good = &threshold{from: 1, good: true}
)

// Variables of the dashboard.
const (
	ofQueue     = `queue=~"$queue"`
	ofQueueName = `queue_name=~"$queue"`
	notResource = `kind!="Resource"`
)

// latest shows a gauge once, even if the former leader still exports it.
func latest(by string, m metric.Metric, selector string) string {
	return fmt.Sprintf("max by (%s) (%s{%s})", by, m.Name, selector)
}

// amounts shows the amounts that queues hold, request, deserve, and may have.
func amounts(title, by, legend, unit string, selector string, of metric.CountedAmounts) panel {
	limit := of.Capacity
	if limit.Name == "" {
		limit = of.Capability
	}
	p := panel{title: title, unit: unit, queries: []query{
		{latest(by, of.Allocated, selector), legend + " allocated"},
		{latest(by, of.Request, selector), legend + " requested"},
		{latest(by, of.Deserved, selector), legend + " deserved"},
		{latest(by, limit, selector), legend + " limit"},
	}}
	if of.Either.Name != "" {
		p.queries = append(p.queries, query{latest(by, of.Either, selector) + " > 0", legend + " may be chosen instead of others"})
	}
	return p
}

func withMemory(p panel) panel {
	p.memory = true
	return p
}

// quantile shows the 90th percentile of a duration.
func quantile(m metric.Metric, by string) string {
	return fmt.Sprintf("histogram_quantile(0.9, sum by (le%s) (rate(%s_bucket[5m])))", by, m.Name)
}

// grown is the growth of a counter that few things count. It counts also what a series begins with, which increase and rate leave out.
func grown(counter, window string) string {
	return fmt.Sprintf("((%[1]s unless %[1]s offset %[2]s) or increase(%[1]s[%[2]s]))", counter, window)
}

var dashboardRows = []panelRow{
	{"Health", 6, []panel{
		{title: "Leader", about: "1 if a replica of the scheduler leads.", stat: good,
			queries: []query{{fmt.Sprintf(`max(%s{name="%s"})`, metric.Leader.Name, metric.SchedulerLease), ""}}},
		{title: "Sessions per minute", stat: good, queries: []query{{fmt.Sprintf("sum(%s) * 60", sessions(fmt.Sprintf("rate(%s_count[5m])", metric.SessionDuration.Name))), ""}}},
		{title: "Queues with a problem", stat: bad, queries: []query{{fmt.Sprintf("sum(max by (reason) (%s))", metric.QueueProblems.Name), ""}}},
		{title: "Devices allocated twice", stat: bad, queries: []query{{fmt.Sprintf("max(%s)", metric.DevicesAllocatedTwice.Name), ""}}},
		{title: "Pods outside of all queues", stat: bad, queries: []query{{fmt.Sprintf("max(%s)", metric.UnattributedPods.Name), ""}}},
		{title: "CRD has spec.dra", stat: good, queries: []query{{fmt.Sprintf("min(%s)", metric.QuotaFieldServed.Name), ""}}},
	}},
	{"Cluster", 3, []panel{
		{title: "In use", about: "The part of the cluster that pods have.", unit: "percentunit", queries: []query{
			{latest("kind, dimension", metric.ClusterUsed, "") + " / " + latest("kind, dimension", metric.ClusterCapacity, ""), "{{dimension}}"},
		}},
		{title: "Free devices and cards", unit: "none", queries: []query{{latest("dimension", metric.ClusterFree, notResource), "{{dimension}}"}}},
		{title: "Most free on one node", about: "A pod that asks for more waits, although more is free in the cluster.", unit: "none",
			queries: []query{{latest("dimension", metric.ClusterLargestFree, notResource), "{{dimension}}"}}},
	}},
	{"Queues", 2, []panel{
		amounts("Devices", "queue, device_class", "{{queue}} {{device_class}}", "none", ofQueue+`, device_class=~"$device_class"`, metric.QueueDevices),
		amounts("Cards", "queue, card", "{{queue}} {{card}}", "none", ofQueue, metric.QueueCards),
		withMemory(amounts("Capacity of devices", "queue, device_class, capacity", "{{queue}} {{device_class}} {{capacity}}", "none", ofQueue+`, device_class=~"$device_class"`, metric.QueueDeviceCapacities)),
		{title: "Guaranteed and idle", about: "Devices and cards that are kept free for a queue that does not use them.", unit: "none", queries: []query{
			{fmt.Sprintf("clamp_min(%s - %s, 0)", latest("queue, device_class", metric.QueueDevices.Guarantee, ofQueue), latest("queue, device_class", metric.QueueDevices.Allocated, ofQueue)), "{{queue}} {{device_class}}"},
			{fmt.Sprintf("clamp_min(%s - %s, 0)", latest("queue, card", metric.QueueCards.Guarantee, ofQueue), latest("queue, card", metric.QueueCards.Allocated, ofQueue)), "{{queue}} {{card}}"},
		}},
		{title: "CPU in cores", unit: "none", queries: []query{
			{latest("queue_name", metric.QueueCPU.Allocated, ofQueueName) + " / 1000", "{{queue_name}} allocated"},
			{latest("queue_name", metric.QueueCPU.RealCapacity, ofQueueName) + " / 1000", "{{queue_name}} limit"},
		}},
		{title: "Memory", unit: "bytes", queries: []query{
			{latest("queue_name", metric.QueueMemory.Allocated, ofQueueName), "{{queue_name}} allocated"},
			{latest("queue_name", metric.QueueMemory.RealCapacity, ofQueueName), "{{queue_name}} limit"},
		}},
	}},
	{"Waiting and eviction", 3, []panel{
		{title: "Pods that wait", about: "Pods that the plugin capacity lets wait, by the reason of the event.", unit: "none",
			queries: []query{{latest("queue, reason", metric.QueueWaitingPods, ofQueue), "{{queue}} {{reason}}"}}},
		{title: "Evictions per hour", unit: "none", queries: []query{
			{fmt.Sprintf("sum by (action, queue, for_queue) (%s)", grown(metric.QueueEvictions.Name+"{"+ofQueue+"}", "1h")), "{{action}} {{queue}} for {{for_queue}}"},
		}},
		{title: "From eviction to start", about: "Nine of ten pods for which others were evicted start within this time.", unit: "s",
			queries: []query{{fmt.Sprintf("histogram_quantile(0.9, sum by (le, action) (%s))", grown(metric.EvictionPromiseDuration.Name+"_bucket", "5m")), "{{action}}"}}},
		{title: "Problems of queues", about: "Queues that have a problem, by the reason of the event on them.", unit: "none",
			queries: []query{{latest("reason", metric.QueueProblems, "") + " > 0", "{{reason}}"}}},
		{title: "Outside of all queues", unit: "none", queries: []query{
			{fmt.Sprintf("max(%s)", metric.UnattributedPods.Name), "pods"},
			{fmt.Sprintf("max(%s)", metric.UnattributedClaims.Name), "claims"},
		}},
	}},
	{"Scheduler", 3, []panel{
		{title: "Session", about: "Nine of ten sessions end within this time.", unit: "ms", queries: []query{{quantile(metric.SessionDuration, ""), "session"}}},
		{title: "Actions", about: "Nine of ten runs of an action end within this time.", unit: "ms", queries: []query{{quantile(metric.ActionDuration, ", action"), "{{action}}"}}},
		{title: "Plugins", about: "Nine of ten plugins open and close a session within this time.", unit: "ms", queries: []query{{quantile(metric.PluginDuration, ", plugin, OnSession"), "{{plugin}} {{OnSession}}"}}},
	}},
	{"Dispatcher", 3, []panel{
		{title: "Workloads", unit: "none", queries: []query{{fmt.Sprintf("sum by (state) (%s)", latest("queue, state", metric.DispatcherWorkloads, ofQueue)), "{{state}}"}}},
		{title: "Decisions per minute", unit: "none", queries: []query{
			{fmt.Sprintf("sum by (decision) (%s) / 5", grown(metric.DispatcherDecisions.Name+"{"+ofQueue+"}", "5m")), "{{decision}}"},
		}},
		{title: "Cycle", about: "Nine of ten cycles end within this time.", unit: "s", queries: []query{{quantile(metric.DispatcherCycleDuration, ""), "cycle"}}},
		amounts("Devices in all clusters", "queue, device_class", "{{queue}} {{device_class}}", "none", ofQueue+`, device_class=~"$device_class"`, metric.DispatcherDevices),
		amounts("Cards in all clusters", "queue, card", "{{queue}} {{card}}", "none", ofQueue, metric.DispatcherCards),
		{title: "Requests that fail per minute", unit: "none", queries: []query{
			// Without a failure, there is no series of failures: show 0 for what is asked for.
			{fmt.Sprintf("sum by (patch) (%s) / 5 or sum by (patch) (%s) * 0", grown(metric.DispatcherPatches.Name+`{result="failure"}`, "5m"), metric.DispatcherPatches.Name), "{{patch}}"},
		}},
	}},
}
