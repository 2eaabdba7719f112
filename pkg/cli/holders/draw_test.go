// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"strings"
	"testing"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestHoldersLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name  string
		style term.Style
		order string
		View
	}{
		{name: "class", View: View{Dimension: "nvidia-h100"}},
		{name: "class-wide", View: View{Dimension: "nvidia-h100", Wide: true}},
		{name: "all-namespaces", View: View{Dimension: "nvidia-h100", Namespaces: true}},
		{name: "by-amount", order: byAmount, View: View{Dimension: "nvidia-h100", Namespaces: true}},
		{name: "everything", View: View{Namespaces: true}},
		{name: "terminal-80", style: term.Style{Width: 80, Unicode: true}, View: View{Dimension: "nvidia-h100", Namespaces: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			holders := clitest.Read[v1alpha1.HolderList](t, "holders.yaml")
			if c.order != "" {
				order(holders.Items, c.order, c.Dimension)
			}
			c.Now = noon
			var text strings.Builder
			if err := c.draw(&text, holders, c.style); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, c.name, text.String())
		})
	}
}
