// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

// gauge is a metric of the queues.
type gauge struct {
	desc *prometheus.Desc
	// value returns the value of a series. It returns false if the dimension has no series.
	value func(*DimensionUsage) (ledger.Amount, bool)
	// unit is the unit of the metric, in billionths of the unit of the dimension.
	unit uint64
}

const (
	whole      = 1_000_000_000
	thousandth = 1_000_000
)

func limitOf(limit func(*DimensionUsage) ledger.Limit) func(*DimensionUsage) (ledger.Amount, bool) {
	return func(d *DimensionUsage) (ledger.Amount, bool) {
		l := limit(d)
		return l.Amount, l.Set
	}
}

var (
	ofCapability = limitOf(func(d *DimensionUsage) ledger.Limit { return d.Capability })
	ofNearest    = limitOf(func(d *DimensionUsage) ledger.Limit { return d.Nearest })
	ofDeserved   = limitOf(func(d *DimensionUsage) ledger.Limit { return d.Deserved })
	ofGuarantee  = limitOf(func(d *DimensionUsage) ledger.Limit { return d.Guarantee })
	ofLimit      = limitOf(func(d *DimensionUsage) ledger.Limit { return d.Limit })
)

func ofAllocated(d *DimensionUsage) (ledger.Amount, bool) {
	return d.Allocated, d.Allocated.Sign() != 0 || d.listed() || d.basic()
}

func ofRequest(d *DimensionUsage) (ledger.Amount, bool) {
	return d.Request, d.Request.Sign() != 0 || d.listed() || d.basic()
}

// ofCardLimit omits cards that the queue must not use and does not list.
func ofCardLimit(d *DimensionUsage) (ledger.Amount, bool) {
	return d.Limit.Amount, d.Limit.Set && (d.Limit.Amount.Sign() > 0 || d.listed() || d.Allocated.Sign() > 0)
}

// resourceGauges returns the metrics for cpu, for memory, or for all other resources.
func resourceGauges(of metric.ResourceAmounts, unit uint64) []gauge {
	return []gauge{
		{of.Allocated.Desc(), ofAllocated, unit},
		{of.Request.Desc(), ofRequest, unit},
		{of.Deserved.Desc(), ofDeserved, unit},
		{of.Capacity.Desc(), ofNearest, unit},
		{of.RealCapacity.Desc(), ofLimit, unit},
	}
}

// countedGauges returns the metrics for cards, for devices, or for capacities of devices.
func countedGauges(of metric.CountedAmounts, limit func(*DimensionUsage) (ledger.Amount, bool)) []gauge {
	return []gauge{
		{of.Capability.Desc(), ofCapability, whole},
		{of.Deserved.Desc(), ofDeserved, whole},
		{of.Guarantee.Desc(), ofGuarantee, whole},
		{of.Allocated.Desc(), ofAllocated, whole},
		{of.Request.Desc(), ofRequest, whole},
		{of.Capacity.Desc(), limit, whole},
	}
}

var (
	cpuGauges            = resourceGauges(metric.DispatcherCPU, thousandth)
	memoryGauges         = resourceGauges(metric.DispatcherMemory, whole)
	scalarGauges         = resourceGauges(metric.DispatcherScalar, thousandth)
	cardGauges           = countedGauges(metric.DispatcherCards, ofCardLimit)
	deviceGauges         = countedGauges(metric.DispatcherDevices, ofLimit)
	deviceCapacityGauges = countedGauges(metric.DispatcherDeviceCapacities, ofLimit)

	allGauges = [][]gauge{cpuGauges, memoryGauges, scalarGauges, cardGauges, deviceGauges, deviceCapacityGauges}
)

// gaugesOfKinds are the metrics of each kind. The resources cpu and memory have their own.
var gaugesOfKinds = map[ledger.Kind][]gauge{
	ledger.Resource: scalarGauges, ledger.Card: cardGauges, ledger.DeviceCount: deviceGauges, ledger.DeviceCapacity: deviceCapacityGauges,
}

// gaugesOf returns the metrics of a dimension, and the values of their labels after the queue. It returns none for an unknown kind.
func gaugesOf(d ledger.Dimension) ([]gauge, []string) {
	switch d {
	case ledger.Dimension{Kind: ledger.Resource, Name: string(corev1.ResourceCPU)}:
		return cpuGauges, nil
	case ledger.Dimension{Kind: ledger.Resource, Name: string(corev1.ResourceMemory)}:
		return memoryGauges, nil
	default:
		return gaugesOfKinds[d.Kind], d.LabelValues()
	}
}
