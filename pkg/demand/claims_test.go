// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestOfPod(t *testing.T) {
	either := claim("either", exactly("a100", 1))
	either.Spec.Devices.Requests = append(either.Spec.Devices.Requests, firstAvailable(exactly("h200", 2), sized(exactly("h100", 1), "10Gi")))
	gone := claim("gone", exactly("b200", 1))
	deleted := on(claim("deleted", exactly("a100", 2)), "big", "big")
	deleted.DeletionTimestamp = ptr.To(metav1.Now())
	source := claims{
		"two":    claim("two", exactly("a100", 2)),
		"mixed":  claim("mixed", exactly("a100", 1), exactly("h200", 3), exactly("a100", 4)),
		"card":   claim("card", exactly("h100", 2)),
		"sized":  claim("sized", sized(exactly("h100", 3), "512Mi")),
		"all":    claim("all", all("h200")),
		"either": either,
		"held":   on(claim("held", all("h100")), "big", "big", "bare"),
		"huge":   claim("huge", exactly("a100", 1<<62), exactly("a100", 1<<62), exactly("a100", 1<<62)),
		"bad":    claim("bad", exactly("a100", -1)),
		"gone":   gone, "deleted": deleted,
	}
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		want    []string
		wantErr string
	}{
		{name: "no claims", pod: pod()},
		{name: "one claim", pod: pod("two"), want: []string{"two a100:2"}},
		{name: "the same claim twice", pod: pod("two", "two"), want: []string{"two a100:2"}},
		{name: "the same class in several requests adds up", pod: pod("mixed"), want: []string{"mixed a100:5 h200:3"}},
		{name: "each claim is a part", pod: pod("two", "mixed"), want: []string{"two a100:2", "mixed a100:5 h200:3"}},
		{name: "a class that names a card counts as that, too, and with its limited capacity is open", pod: pod("card"), want: []string{"card H100:2 h100:2 (open)"}},
		{name: "capacity that is asked for is the least", pod: pod("sized"), want: []string{"sized H100:3 h100/memory:1.5GiB h100:3 (open)"}},
		{name: "all devices of a class are one at least", pod: pod("all"), want: []string{"all h200:1 (open)"}},
		{name: "alternatives are a choice", pod: pod("either"), want: []string{"either a100:1 + (h200:2 | H100:1 h100/memory:10GiB h100:1) (open)"}},
		{name: "what is allocated counts with all its capacity that is limited", pod: pod("held"), want: []string{"held H100:3 h100/memory:160GiB h100:3"}},
		{name: "sums beyond an int64 are exact", pod: pod("huge"), want: []string{"huge a100:13835058055282163712"}},
		{name: "a claim that is missing", pod: pod("lost", "two"), want: []string{"two a100:2"},
			wantErr: "ResourceClaim ns/lost does not exist: create it or correct the name"},
		{name: "a claim that cannot be counted", pod: pod("bad", "two"), want: []string{"two a100:2"},
			wantErr: "ResourceClaim ns/bad: request r: its count -1 is not positive"},
		{name: "a class that is missing", pod: pod("gone"), want: []string{"gone "},
			wantErr: "ResourceClaim ns/gone: DeviceClass b200 does not exist: create it or correct the name"},
		{name: "a claim that is being deleted counts as long as it holds devices", pod: pod("deleted"), want: []string{"deleted a100:2"},
			wantErr: "ResourceClaim ns/deleted is being deleted: wait until it is gone and create it again, or use another one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions, memory := scale()
			counted, err := memory.ofPod(c.pod, source, &resolved{})
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Errorf("error %v, want %q", err, c.wantErr)
			}
			var got []string
			for _, claim := range counted {
				got = append(got, describe(dimensions, claim))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func describe(dimensions *ledger.Dimensions, claim *Claim) string {
	s := claim.Object.Name + " " + text(dimensions, claim.Part.Amounts())
	for _, choice := range claim.Choices {
		var alternatives []string
		for _, a := range choice.Alternatives() {
			alternatives = append(alternatives, text(dimensions, a))
		}
		s += " + (" + strings.Join(alternatives, " | ") + ")"
	}
	if claim.Open {
		s += " (open)"
	}
	return s
}

func TestPicked(t *testing.T) {
	dimensions, memory := scale()
	asked := memory.Of(claim("c", all("h100")))
	amounts, lacking, err := memory.Picked(asked, on(asked.Object, "big", "bare").Status.Allocation)
	if err != nil || text(dimensions, amounts) != "H100:2 h100/memory:80GiB h100:2" {
		t.Errorf("two devices come to %s (%v)", text(dimensions, amounts), err)
	}
	if len(lacking) != 1 || dimensions.Dimension(lacking[0]).String() != "h100/memory" {
		t.Errorf("dimensions that a device lacks: %v", lacking)
	}
	if amounts, lacking, _ := memory.Picked(asked, on(asked.Object, "big").Status.Allocation); len(lacking) > 0 || text(dimensions, amounts) != "H100:1 h100/memory:80GiB h100:1" {
		t.Errorf("one device comes to %s and lacks %v", text(dimensions, amounts), lacking)
	}
}

func TestAssign(t *testing.T) {
	dimensions, memory := scale()
	object := claim("c", exactly("a100", 1))
	object.Spec.Devices.Requests = append(object.Spec.Devices.Requests, firstAvailable(exactly("h200", 2), exactly("a100", 8)))
	c := memory.Of(object)
	books, _ := ledger.New(dimensions, nil, []ledger.QueueSpec{{Name: "q"}})
	before := describe(dimensions, c)
	if err := books.Charge(0, "pipelined", ledger.Demand{c.Part}); err != nil {
		t.Fatal(err)
	}
	if err := c.Assign(books, ledger.Amounts{{Dimension: 1, Amount: ledger.Units(9)}}); err != nil {
		t.Fatal(err)
	}
	if len(c.Choices) > 0 || books.Balance(0, ledger.Allocated, 1) != ledger.Units(9) {
		t.Errorf("after settling there are %d choices, and %s is charged", len(c.Choices), books.Balance(0, ledger.Allocated, 1))
	}
	if err := c.Unassign(books); err != nil || describe(dimensions, c) != before || books.Balance(0, ledger.Allocated, 1) != ledger.Units(1) {
		t.Errorf("after unsettling it is %s (%v), was %s", describe(dimensions, c), err, before)
	}
}

func TestClaimsAreRememberedAndFrozenForARound(t *testing.T) {
	dimensions, memory := scale()
	a100 := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "a100"})
	before, after := claim("c", exactly("a100", 2)), claim("c", exactly("a100", 3))
	first := memory.Of(before)
	if again := memory.Of(after); again != first || again.Part.Amounts().Of(a100) != ledger.Units(2) {
		t.Fatalf("a claim that changes within a round gives another answer: %v", again.Part.Amounts())
	}
	memory.Forget()

	memory.Begin(catalog())
	changed := memory.Of(after)
	if changed.Part != first.Part || changed.Part.Amounts().Of(a100) != ledger.Units(3) {
		t.Fatalf("a claim that changed between rounds: %v", changed.Part.Amounts())
	}

	memory.Begin(catalog())
	memory.Of(claim("c", exactly("a100", -1)))
	if changed.Err == nil || len(changed.Part.Amounts()) > 0 {
		t.Fatalf("a claim that became uncountable: %v, %v", changed.Part.Amounts(), changed.Err)
	}

	memory.Begin(catalog())
	memory.Forget()
	for c := range memory.All {
		t.Fatalf("claim %s is still remembered", c.Object.Name)
	}
}

// TestCapacityOutlivesItsDriver checks that the capacity of a device in use stays known when it is no longer published.
func TestCapacityOutlivesItsDriver(t *testing.T) {
	dimensions, memory := scale()
	held := on(claim("held", exactly("h100", 1)), "big")
	c := memory.Of(held)
	before := text(dimensions, c.Part.Amounts())
	memory.Begin(dra.NewCatalog([]*resourceapi.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "h100", Annotations: map[string]string{card.NameAnnotation: "H100"}}}}, nil))
	memory.Of(held)
	if after := text(dimensions, c.Part.Amounts()); after != before {
		t.Errorf("it comes to %s now, was %s", after, before)
	}
}

// TestLimitsOnCapacityAreSeen checks that a capacity counts from its first limit on.
func TestLimitsOnCapacityAreSeen(t *testing.T) {
	dimensions, memory := scale()
	c := memory.Of(on(claim("held", exactly("h100", 1)), "big"))
	dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "bandwidth"})
	memory.Begin(memory.catalog)
	memory.Of(c.Object)
	if got, want := text(dimensions, c.Part.Amounts()), "H100:1 h100/bandwidth:2000000000000 h100/memory:80GiB h100:1"; got != want {
		t.Errorf("it comes to %s, want %s", got, want)
	}
}

// TestAClassThatComesToExistIsCounted also checks that invented names have no dimension.
func TestAClassThatComesToExistIsCounted(t *testing.T) {
	dimensions, memory := scale()
	object, held := claim("c", exactly("new", 2)), on(claim("held", exactly("new", 1)), "big")
	count := func() string {
		return text(dimensions, memory.Of(object).Part.Amounts()) + " " + text(dimensions, memory.Of(held).Part.Amounts())
	}
	before := dimensions.Len()
	if got := count(); got != " " || dimensions.Len() != before {
		t.Errorf("a class that does not exist: %q, %d dimensions instead of %d", got, dimensions.Len(), before)
	}
	memory.Begin(dra.NewCatalog([]*resourceapi.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}, nil))
	if got := count(); got != "new:2 new:1" {
		t.Errorf("when the class exists: %q", got)
	}
}

func TestAClassThatOnlyAQuotaNamesIsCounted(t *testing.T) {
	dimensions, memory := scale()
	held := on(claim("held", exactly("deleted", 1)), "big")
	memory.Of(held)
	dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "deleted"})
	memory.Begin(memory.catalog)
	if got := text(dimensions, memory.Of(held).Part.Amounts()); got != "deleted:1" {
		t.Errorf("when a queue limits the class: %q", got)
	}
}

// TestADeviceIsChargedInEachSpellingOfItsCapacity uses device big of driver with memory of 80Gi. Claims and quotas cannot
// bypass each other by the spelling.
func TestADeviceIsChargedInEachSpellingOfItsCapacity(t *testing.T) {
	dimensions, memory := scale()
	for _, name := range []string{"driver/memory", "other.example.com/memory"} {
		dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: name})
	}
	const want = "H100:1 h100/driver/memory:80GiB h100/memory:80GiB h100:1"
	memory.Begin(catalog())
	c := claim("c", exactly("h100", 1))
	amounts, lacking, err := memory.Picked(memory.Of(c), on(c, "big").Status.Allocation)
	if got := text(dimensions, amounts); err != nil || got != want {
		t.Errorf("picked %s (%v), want %s", got, err, want)
	}
	// Driver other.example.com is unknown, so the name may be misspelled.
	if len(lacking) != 1 || dimensions.Dimension(lacking[0]).Capacity != "other.example.com/memory" {
		t.Errorf("lacking %v", lacking)
	}
	memory.Begin(catalog())
	if got := text(dimensions, memory.Of(on(c, "big")).Part.Amounts()); got != want {
		t.Errorf("allocated %s, want %s", got, want)
	}
	if got := text(dimensions, memory.Of(claim("asks", sized(exactly("h100", 2), "10Gi"))).Part.Amounts()); got != "H100:2 h100/driver/memory:20GiB h100/memory:20GiB h100:2" {
		t.Errorf("asked for %s", got)
	}
}
