// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestCollect(t *testing.T) {
	gpu, card := ledger.Dimension{Kind: ledger.DeviceCount, Name: "gpu"}, ledger.Dimension{Kind: ledger.Card, Name: "H100"}
	memory := ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "gpu", Capacity: "memory"}
	all := &store.Recorded{Through: time.Unix(1000, 0), Totals: accounting.Sums{
		{Queue: "q", Dimension: gpu, Namespace: "ns", Label: "team-a"}:      ledger.Units(90),
		{Queue: "q", Dimension: card, Namespace: "ns"}:                      ledger.Units(3),
		{Queue: "q", Dimension: memory, Namespace: "ns"}:                    ledger.Units(4096),
		{Measure: accounting.GuaranteedIdle, Queue: "q", Dimension: memory}: ledger.Units(5),
		{Measure: accounting.Waited, Queue: "q", Dimension: card}:           ledger.Units(7),
	}}
	const want = `
# HELP volcano_queue_card_seconds_total Cards times the seconds for which pods of the queue held them
# TYPE volcano_queue_card_seconds_total counter
volcano_queue_card_seconds_total{card="H100",label_example_com_team="",namespace="ns",queue="q"} 3
# HELP volcano_queue_device_capacity_seconds_total Capacity of devices times the seconds for which pods of the queue held them
# TYPE volcano_queue_device_capacity_seconds_total counter
volcano_queue_device_capacity_seconds_total{capacity="memory",device_class="gpu",label_example_com_team="",namespace="ns",queue="q"} 4096
# HELP volcano_queue_device_seconds_total Devices times the seconds for which pods of the queue held them
# TYPE volcano_queue_device_seconds_total counter
volcano_queue_device_seconds_total{device_class="gpu",label_example_com_team="team-a",namespace="ns",queue="q"} 90
# HELP volcano_queue_guaranteed_idle_seconds_total What the queue is guaranteed and does not use, times the seconds for which that lasted
# TYPE volcano_queue_guaranteed_idle_seconds_total counter
volcano_queue_guaranteed_idle_seconds_total{capacity="memory",card="",device_class="gpu",queue="q",resource=""} 5
# HELP volcano_queue_waited_seconds_total What pods and jobs of the queue request and do not have, times the seconds for which they waited
# TYPE volcano_queue_waited_seconds_total counter
volcano_queue_waited_seconds_total{capacity="",card="H100",device_class="",queue="q",resource=""} 7
# HELP volcano_usage_recorded_timestamp_seconds The time up to which the record of usage is complete
# TYPE volcano_usage_recorded_timestamp_seconds gauge
volcano_usage_recorded_timestamp_seconds 1000
`
	if err := testutil.CollectAndCompare(New(func() *store.Recorded { return all }, "example.com/team"), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(New(func() *store.Recorded { return nil }, "")); n != 0 {
		t.Errorf("%d metrics before the record has been read", n)
	}
}

// TestCollectAddsUpLabelsThatAreNotAsked: two series with the same labels would prevent the collection of all metrics of the scheduler.
func TestCollectAddsUpLabelsThatAreNotAsked(t *testing.T) {
	gpu := ledger.Dimension{Kind: ledger.DeviceCount, Name: "gpu"}
	all := &store.Recorded{Through: time.Unix(1000, 0), Totals: accounting.Sums{
		{Queue: "q", Dimension: gpu, Namespace: "ns", Label: "team-a"}: ledger.Units(90),
		{Queue: "q", Dimension: gpu, Namespace: "ns", Label: "team-b"}: ledger.Units(9),
		{Queue: "q", Dimension: gpu, Namespace: "ns"}:                  ledger.Units(1),
	}}
	const want = `
# HELP volcano_queue_device_seconds_total Devices times the seconds for which pods of the queue held them
# TYPE volcano_queue_device_seconds_total counter
volcano_queue_device_seconds_total{device_class="gpu",namespace="ns",queue="q"} 100
`
	collector := New(func() *store.Recorded { return all }, "")
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want), "volcano_queue_device_seconds_total"); err != nil {
		t.Error(err)
	}
}
