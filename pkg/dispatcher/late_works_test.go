// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestWhatMayRunWithoutAGrantIsNotGrantedRoomForThat: it is charged already, so a grant would look free.
func TestWhatMayRunWithoutAGrantIsNotGrantedRoomForThat(t *testing.T) {
	waits := func(w *framework.Workload) {
		w.State = binding.State{Hold: &binding.Hold{Reason: binding.Waiting}, MayRun: true}
		w.Binding.Spec.Clusters = nil
	}
	required := func(w *framework.Workload) {
		w.Binding.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Name: "other"}}
	}
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.running("runs", "team", 4)
	f.running("left a Work behind", "team", 1, waits)
	f.running("runs where others need it", "team", 1, waits, required)
	f.expect("left a Work behind Held, runs where others need it Granted *")
}

func TestAGrantDoesNotShrinkWhileAClusterThatWasLeftHasAWork(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.running("moves", "team", 2, func(w *framework.Workload) {
		w.State.Grant.Amounts[0].Amount = ledger.Units(4)
		w.Works = append(w.Works, &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-member2"}})
	})
	f.held("next", "team", 2)
	f.expect("next InsufficientCPUQuota")
}
