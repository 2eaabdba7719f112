// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

func TestTheCauseIsWhatPeopleHaveBeenToldOrElseTheCheckThatFails(t *testing.T) {
	const other = "No check of this plugin keeps it from starting: another plugin does, or others came first in this session"
	for _, c := range []struct {
		name           string
		refusals       []report.Refusal
		told           report.Refusal
		results, cause string
	}{
		{"a check fails", []report.Refusal{nil, Unreported("full"), nil, Unreported("closed")}, nil, "[0:Passed 1:Failed 2:NotReached 3:NotReached]", "full"},
		{"a check fails, and people have been told something else", []report.Refusal{Unreported("full")}, Unreported("was closed"), "[0:Failed]", "was closed"},
		{"no check fails, and people have been told something", []report.Refusal{nil}, Unreported("was full"), "[0:Passed Session:Failed]", "was full"},
		{"no check fails, and people have been told nothing", []report.Refusal{nil}, nil, "[0:Passed Session:Failed]", other},
	} {
		var checks Checks
		for i, refusal := range c.refusals {
			checks.Add(fmt.Sprint(i), refusal)
		}
		made, cause := checks.End(c.told)
		var results []string
		for _, check := range made {
			results = append(results, check.Name+":"+string(check.Result))
		}
		if got := fmt.Sprint(results); got != c.results || cause.Message != c.cause {
			t.Errorf("%s: %s because %q, want %s because %q", c.name, got, cause.Message, c.results, c.cause)
		}
	}
}
