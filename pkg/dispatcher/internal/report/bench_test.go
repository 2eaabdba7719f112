// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/record"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// BenchmarkCycleWithTenThousandHeldWorkloads measures a cycle without news.
func BenchmarkCycleWithTenThousandHeldWorkloads(b *testing.B) {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	r := New(newEvents(&record.FakeRecorder{}), newQueueWriter(nil, nil, metrics), metrics)
	snapshot := &framework.Snapshot{Now: noon, Queues: map[string]*schedulingv1beta1.Queue{}}
	for i := range 100 {
		snapshot.Queues[fmt.Sprint("q", i)] = &schedulingv1beta1.Queue{}
	}
	decisions := make([]Decision, 10_000)
	for i := range decisions {
		w := job(fmt.Sprint("j", i), fmt.Sprint("q", i%100))
		snapshot.Workloads = append(snapshot.Workloads, w)
	}
	for b.Loop() {
		for i, w := range snapshot.Workloads {
			decisions[i] = WaitsBehind(w, snapshot.Workloads[0], short(9).Scope)
		}
		r.Cycle(&Cycle{Snapshot: snapshot, Decisions: decisions})
	}
}
