// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strings"
	"testing"
)

func TestAboveParents(t *testing.T) {
	var dimensions Dimensions
	cpu, pods := dimensions.Ordinal(Dimension{Name: "cpu"}), dimensions.Ordinal(Dimension{Name: "pods"})
	at := func(o Ordinal, units int64) Amounts { return Amounts{{Dimension: o, Amount: Units(units)}} }
	for _, c := range []struct {
		name       string
		top, child Amounts
		want       string
	}{
		{name: "a child with more than a queue further up", top: at(cpu, 4), child: at(cpu, 8), want: "child cpu 8 above top 4"},
		{name: "a child with as much", top: at(cpu, 4), child: at(cpu, 4)},
		{name: "a dimension that only the child lists", child: at(cpu, 4)},
		{name: "a dimension that only the parent lists", top: at(cpu, 4)},
		{name: "a dimension without limits", top: at(pods, 4), child: at(pods, 8)},
	} {
		books, _ := New(&dimensions, nil, []QueueSpec{
			{Name: "top", Capability: c.top}, {Name: "middle", Parent: "top"}, {Name: "child", Parent: "middle", Capability: c.child},
		})
		var got []string
		for _, a := range books.AboveParents() {
			got = append(got, fmt.Sprintf("%s %s %s above %s %s", books.Name(a.Queue), a.Dimension, a.Capability, books.Name(a.Above), a.Limit))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
