// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestANestedGuaranteeIsKept checks that the siblings of every ancestor respect a nested guarantee.
func TestANestedGuaranteeIsKept(t *testing.T) {
	var dimensions Dimensions
	gpu := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "gpu"})
	of := func(n int64) Amounts { return Amounts{{Dimension: gpu, Amount: Units(n)}} }
	for _, c := range []struct {
		name         string
		organization QueueSpec
		for5th       string
	}{
		{name: "a queue without a guarantee of its own", for5th: "Queue <other> has insufficient <gpu> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a queue with a smaller guarantee", organization: QueueSpec{Guarantee: of(1)}, for5th: "Queue <other> has insufficient <gpu> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a queue that cannot have more than three", organization: QueueSpec{Capability: of(3)}, for5th: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.organization.Name, c.organization.Parent = "organization", "root"
			l, _ := New(&dimensions, nil, []QueueSpec{
				{Name: "root", Capability: of(8)}, c.organization,
				{Name: "team", Parent: "organization", Guarantee: of(4)}, {Name: "other", Parent: "root"},
			})
			other, _ := l.Queue("other")
			refusal, err := l.Fits(other, Demand{NewPart(of(5))})
			got := ""
			if refusal != nil {
				got = refusal.String()
			}
			if got != c.for5th || err != nil {
				t.Errorf("refusal %q (%v), want %q", got, err, c.for5th)
			}
			if refusal, err := l.Fits(other, Demand{NewPart(of(4))}); refusal != nil || err != nil {
				t.Errorf("four of eight are refused: %v, %v", refusal, err)
			}
		})
	}
}
