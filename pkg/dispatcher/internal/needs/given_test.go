// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestWhatCannotBeCountedIsNoted: a user replaces a claim template by a larger one, and keeps the workload from being counted by another one.
func TestWhatCannotBeCountedIsNoted(t *testing.T) {
	w := newWorld(class("h100"), claimTemplate("large", nil, exactly("h100", 8)), namedClaim("shared", exactly("h100", 1)), claimTemplate("of a task without pods", nil, exactly("h100", 1)))
	unknown, later := pods(1, fromTemplate("gone"), fromTemplate("large")), pods(1, fromTemplate("large"), sharing("shared"))
	_, n, err := w.counted(t, job(unknown, later, pods(0, fromTemplate("of a task without pods"))), framework.Spread{Copies: 1})
	want := []string{binding.ClaimNote(w.templates["ns/large"]), binding.ClaimNote(w.claims["ns/shared"])}
	slices.Sort(want)
	if err == nil || !slices.Equal(n.Given, want) {
		t.Errorf("noted %q with the error %v, want %q and an error", n.Given, err, want)
	}
}
