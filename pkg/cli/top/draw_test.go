// SPDX-License-Identifier: Apache-2.0

package top

import (
	"os"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

func TestTheLastHourLooksLikeThis(t *testing.T) {
	for _, c := range []struct {
		name  string
		style term.Style
		wide  bool
		selection
	}{
		{name: "pipe", style: term.Style{Unicode: true}},
		{name: "wide", style: term.Style{Unicode: true}, wide: true, selection: selection{all: true}},
		{name: "ascii-80", style: term.Style{Width: 80}},
		{name: "terminal-50", style: term.Style{Unicode: true, Width: 50}},
		{name: "one-queue", style: term.Style{Unicode: true}, selection: selection{queues: []string{"llm"}, dimensions: []string{"nvidia-h100"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := clitest.Read[v1alpha1.History](t, "history.yaml")
			history.Items = c.of(history.Items)
			var text strings.Builder
			if err := draw(&text, history, c.style, c.wide); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, c.name, text.String())
		})
	}
}

func TestWhatIsNotKnownDoesNotCount(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   use
	}{
		{"all known", []float64{1, 2, 3}, use{now: 3, lowest: 1, highest: 3, average: 2, known: 3}},
		{"not at first", []float64{-1, 0, 4}, use{now: 4, highest: 4, average: 2, known: 2}},
		{"not any more", []float64{2, -1}, use{now: -1, lowest: 2, highest: 2, average: 2, known: 1}},
		{"never", []float64{-1}, use{now: -1}},
		{"no values", nil, use{now: -1}},
	} {
		if got := summary(c.values); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestThePageOfTheCommandShowsThis(t *testing.T) {
	page, err := os.ReadFile("../../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile("testdata/pipe.golden")
	if err != nil {
		t.Fatal(err)
	}
	if want := "$ kubectl devicequota top\n" + string(drawn) + "```"; !strings.Contains(string(page), want) {
		t.Errorf("docs/kubectl.md does not contain %s", want)
	}
}
