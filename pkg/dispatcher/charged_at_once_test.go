// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestWhatClustersGotBeyondAGrantIsChargedAtOnce: the cycle that notes it gives nobody else its room.
func TestWhatClustersGotBeyondAGrantIsChargedAtOnce(t *testing.T) {
	const name = "0123456789abcdef"
	for what, c := range map[string]struct {
		change func(*framework.Workload)
		want   string
	}{
		"while only its placement waits": {func(w *framework.Workload) {
			w.State.Hold = &binding.Hold{Reason: binding.Growing, PlacementOnly: true}
		}, "more GrantExceeded *, next InsufficientCPUQuota"},
		"from a claim that was replaced when it was granted, before it grew": {func(w *framework.Workload) {
			w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
			w.State.Grant.Decided = metav1.NewTime(noon)
			w.State.Grant.Given, w.Needs.Given = []string{name + strings.Repeat("0", 32)}, []string{name + strings.Repeat("1", 32)}
		}, "more TakenBack *, next InsufficientCPUQuota"},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			f.running("more", "team", 3, func(w *framework.Workload) { w.State.Grant.Amounts[0].Amount = ledger.Units(2) }, c.change)
			f.held("next", "team", 2)
			f.expect(c.want)
		})
	}
}
