// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// awaitSnapshot takes snapshots after changes until done accepts the workload of a binding. The workload is nil if there is none.
func (p *controlPlane) awaitSnapshot(t *testing.T, binding string, done func(*framework.Snapshot, *framework.Workload) bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		snapshot, err := p.cache.Snapshot(noon)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(snapshot.Workloads, func(a, b *framework.Workload) int { return a.Created.Compare(b.Created) }) {
			t.Error("the workloads are not in the order of their age")
		}
		var found *framework.Workload
		for _, w := range snapshot.Workloads {
			if w.Binding.Name == binding {
				found = w
			}
		}
		if done(snapshot, found) {
			return
		}
		select {
		case <-p.cache.Changed():
		case <-deadline:
			t.Fatalf("after a minute, the snapshot of %s is still %+v", binding, found)
		}
	}
}

func TestASnapshotHasEachChange(t *testing.T) {
	p := newControlPlane(t, "", backlog{departments: 1, held: 2, granted: 2})
	ctx, ns, delete := t.Context(), "department-0", metav1.DeleteOptions{}
	const running, waiting = "department-0-team-3-0", "department-0-team-3-2"
	cores := func(s *framework.Snapshot, w *framework.Workload) ledger.Amount {
		return w.Needs.All.Of(s.Dimensions.Ordinal(cpu))
	}
	p.awaitSnapshot(t, running+"-job", func(s *framework.Snapshot, w *framework.Workload) bool {
		return len(s.Workloads) == 40 && cores(s, w) == ledger.Units(4) && len(w.Works) == 1
	})

	job, err := p.volcano.BatchV1alpha1().Jobs(ns).Get(ctx, running, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job = job.DeepCopy()
	job.Spec.Tasks[0].Replicas = 3
	if _, err := p.volcano.BatchV1alpha1().Jobs(ns).Update(ctx, job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.awaitSnapshot(t, running+"-job", func(s *framework.Snapshot, w *framework.Workload) bool { return cores(s, w) == ledger.Units(6) })

	if err := p.karmada.WorkV1alpha1().Works("karmada-es-east").Delete(ctx, running+"-job", delete); err != nil {
		t.Fatal(err)
	}
	p.awaitSnapshot(t, running+"-job", func(_ *framework.Snapshot, w *framework.Workload) bool { return len(w.Works) == 0 })

	if err := p.volcano.BatchV1alpha1().Jobs(ns).Delete(ctx, waiting, delete); err != nil {
		t.Fatal(err)
	}
	p.awaitSnapshot(t, waiting+"-job", func(_ *framework.Snapshot, w *framework.Workload) bool { return w.Err != nil })

	again := p.job(p.queues[2], 0)
	again.Name, again.UID = waiting, job.UID+"-2"
	bindings := p.karmada.WorkV1alpha2().ResourceBindings(ns)
	if err := bindings.Delete(ctx, waiting+"-job", delete); err != nil {
		t.Fatal(err)
	}
	p.awaitSnapshot(t, waiting+"-job", func(s *framework.Snapshot, w *framework.Workload) bool { return w == nil && len(s.Workloads) == 39 })
	if _, err := bindings.Create(ctx, p.waits(again), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.volcano.BatchV1alpha1().Jobs(ns).Create(ctx, again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.awaitSnapshot(t, waiting+"-job", func(_ *framework.Snapshot, w *framework.Workload) bool {
		return w != nil && w.Err == nil && w.Queue == p.queues[2].Name
	})
}
