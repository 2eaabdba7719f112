// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestProtectedByGangs(t *testing.T) {
	refusal := ProtectedByGangs{Refusal: ClaimBusy{Claim: "ns/c", Why: "waits."}, Pods: 4}
	want := refusal.Refusal.Message() + " The queue deserves them, but <4> pods that have them belong to gangs that need all their pods: the argument reclaimGangs of the plugin allows to evict whole gangs."
	if got := refusal.Message(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if refusal.Reason() != refusal.Refusal.Reason() {
		t.Error("the reason changes")
	}
}
