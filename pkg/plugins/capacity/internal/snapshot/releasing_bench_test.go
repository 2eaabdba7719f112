// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// BenchmarkPlacePodsWhileOthersLeave places 50 pods while 4,000 pods with cards are leaving. Each pod is checked against
// the held ledger, charged, and refunded.
func BenchmarkPlacePodsWhileOthersLeave(b *testing.B) {
	const leaving, placed = 4_000, 50
	f := newFixture(b)
	f.cache.Fleet.Set("n1", card.Node{Model: "A", Offers: []card.Offer{{Resource: gpu, Card: "A", Count: 2 * leaving}}})
	f.input.Total = api.NewResource(list("cpu=100 nvidia.com/gpu=10000"))
	f.queue("q", "root", quotaOf(`{"A": 10000}`, 0))
	now := metav1.Now()
	for i := range leaving {
		task := f.job(fmt.Sprint("leaving-", i), "q", "n1", "cpu=0 nvidia.com/gpu=1")
		task.Pod.DeletionTimestamp = &now
		f.input.Jobs[task.Job].DeleteTaskInfo(task)
		f.input.Jobs[task.Job].AddTaskInfo(api.NewTaskInfo(task.Pod))
	}
	var tasks []*api.TaskInfo
	for i := range placed {
		tasks = append(tasks, f.job(fmt.Sprint("placed-", i), "q", "", "cpu=0 nvidia.com/gpu=1"))
	}
	s := f.take()
	queue, _ := s.Ledger.Queue("q")
	if got := s.Ledger.Balance(queue, ledger.Releasing, s.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "A"})); got != ledger.Units(leaving) {
		b.Fatalf("%s cards are leaving, want %d", got, leaving)
	}
	for b.Loop() {
		for _, task := range tasks {
			task.NodeName = "n1"
			pod := s.Known(task.Pod)
			s.AssignCards(pod, task)
			if err := s.FitsHeld(pod); err != nil {
				b.Fatal(err)
			}
			s.Allocate(pod, task)
		}
		for _, task := range tasks {
			s.Deallocate(s.Known(task.Pod), task, nil)
		}
	}
}
