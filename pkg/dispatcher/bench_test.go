// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"sync/atomic"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// BenchmarkDispatcher measures whole cycles, from the informers to the report. In 100 queues below ten others, 10,000 workloads are
// held and 2,000 are granted. The API server is fake: it accepts every patch and changes nothing, so each cycle decides the same.
func BenchmarkDispatcher(b *testing.B) {
	for _, bc := range []struct {
		name, arguments string
		room            int
		// grants is the number of grants in each cycle.
		grants int64
		// changes says that a binding changes before each cycle.
		changes bool
	}{
		{name: "nothing-fits"},
		{name: "nothing-fits,strictOrder=false", arguments: "strictOrder: false"},
		{name: "nothing-fits,reclaim=true", arguments: "reclaim: true"},
		{name: "a-binding-changes", changes: true},
		{name: "100-granted", room: 1, grants: 100},
	} {
		b.Run("cycle="+bc.name, func(b *testing.B) {
			p := newControlPlane(b, bc.arguments, backlog{departments: 10, held: 100, granted: 20, room: bc.room})
			patches := p.acceptWithoutEffect(b)
			p.runCycle(b.Context())
			changing := p.anyHeld(b)
			patches.Store(0)
			b.ReportAllocs()
			for b.Loop() {
				if bc.changes {
					b.StopTimer()
					changing = p.change(b, changing)
					b.StartTimer()
				}
				p.runCycle(b.Context())
			}
			if got, want := patches.Load(), bc.grants*int64(b.N); got != want {
				b.Fatalf("%d patches in %d cycles, want %d", got, b.N, want)
			}
		})
	}
}

// acceptWithoutEffect makes the API server accept changes of bindings and queues without effect. It returns the number of accepted
// patches of bindings.
func (p *controlPlane) acceptWithoutEffect(b *testing.B) *atomic.Int64 {
	list, err := p.karmada.WorkV1alpha2().ResourceBindings("").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	bindings := map[string]*workv1alpha2.ResourceBinding{}
	for i := range list.Items {
		bindings[list.Items[i].Name] = &list.Items[i]
	}
	for _, verb := range []string{"update", "patch"} {
		p.api.PrependReactor(verb, "queues", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, &schedulingv1beta1.Queue{}, nil
		})
	}
	patches := &atomic.Int64{}
	p.karmada.PrependReactor("patch", "resourcebindings", func(action k8stesting.Action) (bool, runtime.Object, error) {
		patches.Add(1)
		return true, bindings[action.(k8stesting.PatchAction).GetName()], nil
	})
	return patches
}

func (p *controlPlane) anyHeld(b *testing.B) *workv1alpha2.ResourceBinding {
	rb, err := p.karmada.WorkV1alpha2().ResourceBindings("department-5").Get(b.Context(), "department-5-team-5-99-job", metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return rb
}

// change changes a binding, and returns it when the dispatcher has noticed the change.
func (p *controlPlane) change(b *testing.B, rb *workv1alpha2.ResourceBinding) *workv1alpha2.ResourceBinding {
	for {
		select {
		case <-p.cache.Changed():
			continue
		default:
		}
		break
	}
	changed := rb.DeepCopy()
	changed.Generation++
	changed, err := p.karmada.WorkV1alpha2().ResourceBindings(rb.Namespace).Update(b.Context(), changed, metav1.UpdateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	<-p.cache.Changed()
	return changed
}
