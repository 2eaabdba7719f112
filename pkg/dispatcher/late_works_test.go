// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestWhatMayRunWithoutAGrantIsNotGrantedRoomForThat: it is charged for what it may run, and would ask for nothing more.
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
