// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestClaimsThatAreReplacedDuringAGrantGiveNothingMore: the webhook refuses to replace the claim template of a granted workload, but may have admitted that
// just before the grant.
func TestClaimsThatAreReplacedDuringAGrantGiveNothingMore(t *testing.T) {
	note := func(name, content string) string { return strings.Repeat(name, 16) + strings.Repeat(content, 32) }
	for name, tc := range map[string]struct {
		given, now string
		decided    time.Duration
		cores      int64
		hold       *binding.Hold
		err        error
		want       string
	}{
		"other devices, and more":                  {note("a", "1"), note("a", "8"), time.Second, 8, nil, nil, "runs TakenBack *"},
		"more, and its user makes it grow":         {note("a", "1"), note("a", "8"), time.Second, 8, &binding.Hold{Reason: binding.Growing, Dispatching: true}, nil, "runs TakenBack *"},
		"more, and it is taken back already":       {note("a", "1"), note("a", "8"), time.Second, 8, &binding.Hold{Reason: binding.Returning}, nil, ""},
		"more, and it cannot be counted":           {note("a", "1"), note("a", "8"), time.Second, 8, nil, errors.New("another one is gone"), "runs TakenBack *"},
		"other devices, and not more":              {note("a", "1"), note("a", "8"), time.Second, 4, nil, nil, "runs  *"},
		"the same devices":                         {note("a", "1"), note("a", "1"), time.Second, 8, nil, nil, "runs GrantExceeded *"},
		"another claim template":                   {note("a", "1"), note("b", "8"), time.Second, 8, nil, nil, "runs  *"},
		"long ago, while there was no webhook":     {note("a", "1"), note("a", "8"), time.Hour, 8, nil, nil, "runs  *"},
		"it is not known what the one before gave": {note("a", ""), note("a", "8"), time.Second, 8, nil, nil, "runs  *"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			f.running("runs", "team", 4, func(w *framework.Workload) {
				w.Needs = needing(f.cores(tc.cores))
				w.State.Hold, w.Err = tc.hold, tc.err
				w.State.Grant.Given, w.Needs.Given = []string{tc.given}, []string{tc.now}
				w.State.Grant.Decided = metav1.NewTime(noon.Add(-tc.decided))
			})
			f.expect(tc.want)
		})
	}
}

// TestWhatReplacedClaimsGiveIsChargedUntilItHasLeft: pods have it until they have ended, and nobody else gets its room.
func TestWhatReplacedClaimsGiveIsChargedUntilItHasLeft(t *testing.T) {
	note := func(content string) []string { return []string{strings.Repeat("a", 16) + strings.Repeat(content, 32)} }
	f := newFixture(t, "")
	f.queue("team", "root", 12)
	w := f.running("runs", "team", 4, func(w *framework.Workload) {
		w.Needs = needing(f.cores(8))
		w.State.Grant.Given, w.Needs.Given = note("1"), note("8")
		w.State.Grant.Decided = metav1.NewTime(noon.Add(-time.Second))
	})
	metav1.SetMetaDataAnnotation(&w.Binding.ObjectMeta, binding.GrantAnnotation, w.State.Grant.Annotation())
	c := f.expect("runs TakenBack *")
	if err := json.Unmarshal(c.ends[0].patch, w.Binding); err != nil {
		t.Fatal(err)
	}
	w.Binding.Spec.Clusters = nil // the patch removes them
	w.State = binding.Read(w.Binding, w.Works)
	f.held("waits", "team", 8)
	f.expect("waits InsufficientCPUQuota")
}
