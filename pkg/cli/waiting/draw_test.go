// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestWorkloadsThatWaitLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name       string
		style      term.Style
		wide       bool
		namespaces bool
		selection  selection
	}{
		{name: "pipe"},
		{name: "all-namespaces", namespaces: true},
		{name: "wide", namespaces: true, wide: true},
		{name: "one-queue", selection: selection{queues: []string{"vision"}}},
		{name: "priority", selection: selection{reasons: []string{"NotEnoughQuota"}, order: byPriority}},
		{name: "terminal-100", style: term.Style{Unicode: true, Width: 100}},
		{name: "terminal-60", style: term.Style{Width: 60}},
		{name: "wide-80", style: term.Style{Unicode: true, Width: 80}, wide: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			workloads := clitest.Read[v1alpha1.WorkloadList](t, "workloads.yaml")
			c.selection.order = cmp.Or(c.selection.order, byQueue)
			workloads.Items = c.selection.of(workloads.Items)
			v := view{namespaces: c.namespaces, now: noon}
			draw := v.draw
			if c.wide {
				draw = v.drawGroups
			}
			var text strings.Builder
			if err := draw(&text, workloads, c.style); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, c.name, text.String())
		})
	}
}
