// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestClaimsOfAllTemplatesAreNoted: clusters may make pods of a former template, so a claim template that it names must not be replaced.
func TestClaimsOfAllTemplatesAreNoted(t *testing.T) {
	changed := func(w *framework.Workload) {
		w.State.Grant.Given, w.Needs.Given = []string{"former"}, []string{"now"}
	}
	for name, tc := range map[string]struct {
		change func(*framework.Workload)
		want   string
		given  []string
	}{
		"a new template":        {func(*framework.Workload) {}, "runs  *", []string{"former", "now"}},
		"one that is not known": {func(w *framework.Workload) { w.Needs.Given = nil }, "", nil},
		"one that is held": {func(w *framework.Workload) {
			w.State.Hold = &binding.Hold{Reason: binding.Growing}
			twice, _ := w.Needs.All.Times(2)
			w.Needs = needing(twice)
		}, "runs GrowthHeld", nil},
		"one that was replaced before a cycle": {func(w *framework.Workload) { w.State.Change = &binding.Change{Given: []string{"between"}} }, "runs  *", []string{"between", "former", "now"}},
		"one that was replaced before it was held": {func(w *framework.Workload) {
			w.State.Change, w.State.Hold = &binding.Change{Given: []string{"between"}}, &binding.Hold{Reason: binding.Growing}
			twice, _ := w.Needs.All.Times(2)
			w.Needs = needing(twice)
		}, "runs  *", []string{"between", "former"}},
		"one that is not held any more": {func(w *framework.Workload) { w.State.Hold = &binding.Hold{Reason: binding.Growing} }, "runs  *", []string{"former", "now"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			f.running("runs", "team", 4, changed, tc.change)
			c := f.expect(tc.want)
			if tc.given != nil {
				if grant := grantIn(t, c.ends[0].patch); !slices.Equal(grant.Given, tc.given) {
					t.Errorf("noted %q, want %q", grant.Given, tc.given)
				}
			}
		})
	}
}
