// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

func TestTreesLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name  string
		style term.Style
		wide  bool
		selection
	}{
		{name: "pipe", style: term.Style{Unicode: true}},
		{name: "pipe-wide", style: term.Style{Unicode: true}, wide: true},
		{name: "ascii", style: term.Style{}},
		{name: "colour-120", style: term.Style{Unicode: true, Colour: true, Width: 120, Height: 50}},
		{name: "terminal-100", style: term.Style{Unicode: true, Width: 100, Height: 50}},
		{name: "terminal-80", style: term.Style{Unicode: true, Width: 80, Height: 50}},
		{name: "terminal-60", style: term.Style{Unicode: true, Width: 60, Height: 50}},
		{name: "all-dimensions", style: term.Style{Unicode: true}, selection: selection{all: true}},
		{name: "one-dimension", style: term.Style{Unicode: true}, selection: selection{dimensions: []string{"cpu"}}},
		{name: "one-queue", style: term.Style{Unicode: true}, selection: selection{queue: "vision"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			queues, err := c.of(clitest.Read[v1alpha1.QueueList](t, "queues.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			if err := draw(&text, queues, c.style, c.wide); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, c.name, text.String())
			if c.style.Colour {
				return
			}
			for _, line := range strings.Split(text.String(), "\n") {
				if got := term.Width(line); c.style.Width > 0 && got > c.style.Width {
					t.Errorf("a line has %d columns on a terminal with %d: %q", got, c.style.Width, line)
				}
			}
		})
	}
}

func TestSomeFiguresMayBeTooLow(t *testing.T) {
	queues := clitest.Read[v1alpha1.QueueList](t, "queues.yaml")
	queues.Snapshot.Incomplete = "ResourceSlices have not been read"
	var text strings.Builder
	if err := draw(&text, queues, term.Style{}, false); err != nil {
		t.Fatal(err)
	}
	if want := "Some figures may be too low: ResourceSlices have not been read\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("the tree does not end with %q:\n%s", want, &text)
	}
}

func TestAQueueThatDoesNotExistIsAnError(t *testing.T) {
	_, err := selection{queue: "visoin"}.of(clitest.Read[v1alpha1.QueueList](t, "queues.yaml"))
	if got, want := fmt.Sprint(err), `queue "visoin" does not exist, or the scheduler has not read it yet: see kubectl get queues`; got != want {
		t.Errorf("got the error %s, want %s", got, want)
	}
}

func TestASelectionLeavesWhatTheSchedulerSaidAsItWas(t *testing.T) {
	queues := clitest.Read[v1alpha1.QueueList](t, "queues.yaml")
	if _, err := (selection{dimensions: []string{"cpu"}}).of(queues); err != nil {
		t.Fatal(err)
	}
	if got := len(queues.Items[0].Figures); got != 4 {
		t.Errorf("root has figures of %d dimensions, want 4", got)
	}
}
