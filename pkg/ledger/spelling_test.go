// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// spelled makes amounts of capacities of class gpu from words such as memory=80.
func spelled(t *testing.T, dimensions *Dimensions, words string) Amounts {
	t.Helper()
	var amounts Amounts
	for word := range strings.FieldsSeq(words) {
		var n int64
		name, number, _ := strings.Cut(word, "=")
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatal(err)
		}
		amounts = append(amounts, Entry{dimensions.Ordinal(Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: name}), Units(n)})
	}
	return amounts
}

func TestWhatAQueueIsOwedHoldsInEachSpellingOfACapacity(t *testing.T) {
	for _, c := range []struct{ name, owed, others, want string }{
		{"one spelling", "memory=80", "cores=4", "memory=80"},
		{"others write the domain", "memory=80", "a/memory=1", "a/memory=80 memory=80"},
		{"others leave the domain out", "a/memory=80", "memory=1", "a/memory=80 memory=80"},
		{"parts of two drivers", "a/memory=80 b/memory=40", "memory=1", "a/memory=80 b/memory=40 memory=120"},
		{"two drivers", "a/memory=80", "b/memory=1", "a/memory=80"},
		{"a part that is more than the whole", "memory=40 a/memory=80", "", "a/memory=40 memory=40"},
		{"a part that is less than the whole", "memory=80 a/memory=40", "", "a/memory=40 memory=80"},
		{"a part of the whole, and another driver", "memory=80 a/memory=40", "b/memory=1", "a/memory=40 b/memory=80 memory=80"},
		{"another capacity", "memory=80", "a/cores=1 cores=1", "memory=80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions Dimensions
			owed, others := spelled(t, &dimensions, c.owed), spelled(t, &dimensions, c.others)
			spelled(t, &dimensions, "stale/memory=1") // no queue lists it anymore
			specs := []QueueSpec{{Name: "owed", Deserved: owed, Guarantee: owed}, {Name: "others", Capability: others}}
			aligned := alignSpellings(&dimensions, specs)
			for _, list := range []Amounts{aligned[0].Deserved, aligned[0].Guarantee} {
				var got []string
				for _, e := range list {
					got = append(got, dimensions.Dimension(e.Dimension).Capacity+"="+e.Amount.String())
				}
				if slices.Sort(got); strings.Join(got, " ") != c.want {
					t.Errorf("got %v, want %s", got, c.want)
				}
			}
			if len(specs[0].Deserved) != len(owed) || &specs[0].Deserved[0] != &owed[0] {
				t.Error("the list of the caller has changed")
			}
		})
	}
}

func TestAGuaranteeHoldsAgainstSiblingsThatAreLimitedInTheOtherSpelling(t *testing.T) {
	for _, spellings := range [][2]string{{"memory", "a/memory"}, {"a/memory", "memory"}} {
		var dimensions Dimensions
		of := func(name string, n int) Amounts { return spelled(t, &dimensions, fmt.Sprintf("%s=%d", name, n)) }
		l, _ := New(&dimensions, nil, []QueueSpec{
			{Name: "root", Capability: of(spellings[0], 100)},
			{Name: "owed", Parent: "root", Guarantee: of(spellings[1], 40)},
			{Name: "other", Parent: "root"},
		})
		q, _ := l.Queue("other")
		// A device is charged in both spellings.
		refusal, err := l.Fits(q, Demand{NewPart(of(spellings[0], 61))})
		if err != nil || refusal == nil || !strings.Contains(refusal.String(), "of which <40> is guaranteed to others") {
			t.Errorf("%v: %v, %v", spellings, refusal, err)
		}
	}
}

func TestAClassIsListedIfOnlyACapacityOfItIs(t *testing.T) {
	var dimensions Dimensions
	listed, count := spelled(t, &dimensions, "memory=80"), dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "gpu"})
	other := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "other"})
	l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q", DeviceQuotaRequired: true, Capability: listed}})
	q, _ := l.Queue("q")
	if refusal, err := l.Fits(q, Demand{NewPart(Amounts{{count, Units(4)}})}); refusal != nil || err != nil {
		t.Errorf("%v, %v", refusal, err)
	}
	if refusal, err := l.Fits(q, Demand{NewPart(Amounts{{other, Units(1)}})}); refusal == nil || err != nil {
		t.Errorf("a class that nobody lists: %v, %v", refusal, err)
	}
}
