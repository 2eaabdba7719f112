// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// TestWhichRefusalIsReported checks that the refusal does not depend on the order of nodes.
func TestWhichRefusalIsReported(t *testing.T) {
	failed := report.PickFailed{Err: errors.New("queue q limits memory, a capacity that device d of the class does not have")}
	quota := func(queue string) report.Refusal {
		return report.QuotaExceeded{Quota: refusals.Quota{Refusal: &ledger.Refusal{Queue: queue, Dimension: ledger.Dimension{Kind: ledger.DeviceCount, Name: "gpu"}}}}
	}
	for _, c := range []struct {
		name     string
		refusals [2]report.Refusal
		want     report.Refusal
	}{
		{name: "an error comes before the quota", refusals: [2]report.Refusal{quota("a"), failed}, want: failed},
		{name: "of two messages the one that sorts first", refusals: [2]report.Refusal{quota("b"), quota("a")}, want: quota("a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range [][2]int{{0, 1}, {1, 0}} {
				var state State
				for _, i := range order {
					state.refuse(c.refusals[i])
				}
				if got := state.Refusal().Message(); got != c.want.Message() {
					t.Errorf("in the order %v: %s, want %s", order, got, c.want.Message())
				}
			}
		})
	}
}
