// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestExplanationsLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		style        term.Style
		wide         bool
	}{
		{name: "waiting", answer: "waiting", style: term.Style{Unicode: true}},
		{name: "waiting-wide", answer: "waiting", style: term.Style{Unicode: true}, wide: true},
		{name: "waiting-ascii", answer: "waiting"},
		{name: "waiting-80", answer: "waiting", style: term.Style{Unicode: true, Width: 80}},
		{name: "waiting-colour", answer: "waiting", style: term.Style{Unicode: true, Colour: true, Width: 120}},
		{name: "running", answer: "running", style: term.Style{Unicode: true}},
		{name: "job", answer: "job", style: term.Style{Unicode: true}},
		{name: "job-60", answer: "job", style: term.Style{Unicode: true, Width: 60}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			d := drawing{&term.Page{Out: &text, Style: c.style}, c.wide, noon}
			if err := d.draw(clitest.Read[v1alpha1.Explanation](t, c.answer+".yaml")); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, c.name, text.String())
		})
	}
}

func TestTheFirstLineSaysTheState(t *testing.T) {
	for state, want := range map[v1alpha1.State]string{
		v1alpha1.Waiting:      "pod/a in namespace b waits; its queue is c",
		v1alpha1.Promised:     "pod/a in namespace b waits for others to leave the node n, which is promised to it; its queue is c",
		v1alpha1.Running:      "pod/a in namespace b runs on the node n; its queue is c",
		v1alpha1.Releasing:    "pod/a in namespace b is leaving the node n; its queue is c",
		v1alpha1.Ended:        "pod/a in namespace b has ended and holds nothing; its queue is c",
		v1alpha1.Gated:        "pod/a in namespace b is kept from being scheduled by its scheduling gates; its queue is c",
		v1alpha1.NotScheduled: "pod/a in namespace b is for another scheduler; its queue is c",
		"Dreaming":            "pod/a in namespace b is in the state Dreaming; its queue is c",
	} {
		e := &v1alpha1.Explanation{Subject: v1alpha1.Object{Kind: "Pod", Namespace: "b", Name: "a"}, Queue: "c", State: state, Node: "n"}
		if got := headline(e); got != want {
			t.Errorf("%s: got %q, want %q", state, got, want)
		}
	}
}
