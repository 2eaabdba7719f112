// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestWhatIsRememberedOfClaimsIsBounded: users create and delete any number.
func TestWhatIsRememberedOfClaimsIsBounded(t *testing.T) {
	var a appeared
	before, given := time.Now().Add(-time.Second), []string{binding.ClaimNote(claim("flips", 1))}
	for i := range int64(100) {
		a.add(claim("flips", 2+i))
		a.add(claim(fmt.Sprintf("other %d", i), 1))
	}
	if n := len(a.at[claimName{"ns", binding.NameIn(given[0])}]); n > maxOfName || a.count > 100+maxOfName {
		t.Errorf("it remembers %d claims of one name, and %d in all", n, a.count)
	}
	if !a.others("ns", given, nil, before) {
		t.Error("it does not know that a claim has taken the place of another one")
	}
	if a.others("ns", given, nil, time.Now()) || a.others("elsewhere", given, nil, before) || a.others("ns", []string{binding.ClaimNote(claim("other 1", 1))}, nil, before) {
		t.Error("it takes one claim for another one")
	}
	if a.forget(time.Now().Add(2 * appearedLasts)); a.count != 0 || len(a.at) != 0 {
		t.Errorf("it does not forget %d claims", a.count)
	}
}
