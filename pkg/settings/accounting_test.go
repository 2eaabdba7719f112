// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devicequota/devicequota/pkg/accounting"
)

func TestArgumentsOfAccounting(t *testing.T) {
	for _, test := range []struct {
		name  string
		given map[string]any
		want  Accounting
	}{
		{"has defaults", nil, Accounting{true, "", nil, time.Minute, accounting.Period(24 * time.Hour), 90 * 24 * time.Hour}},
		{"takes all that is valid", map[string]any{
			"accounting": false, "accountingLabel": "example.com/team", "accountingResources": []any{"cpu", "memory"}, "accountingInterval": "30s",
			"accountingPeriod": "6h", "accountingRetention": "48h",
		}, Accounting{false, "example.com/team", []string{"cpu", "memory"}, 30 * time.Second, accounting.Period(6 * time.Hour), 48 * time.Hour}},
		{"leaves out what is invalid", map[string]any{
			"accountingLabel": "not a label", "accountingResources": 7, "accountingInterval": "-1s", "accountingPeriod": "7h", "accountingRetention": "x",
		}, Accounting{true, "", nil, time.Minute, accounting.Period(24 * time.Hour), 90 * 24 * time.Hour}},
	} {
		got, _ := Read(Name, test.given)
		if diff := cmp.Diff(test.want, got.Accounting); diff != "" {
			t.Error(test.name, diff)
		}
	}
}
