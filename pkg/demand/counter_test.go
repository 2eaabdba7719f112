// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// fixture is a counter in its first round, and a ledger with one queue.
type fixture struct {
	*testing.T
	*Counter
	books  *ledger.Ledger
	reader library
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, Counter: NewCounter(cardFleet(), func(corev1.ResourceName) bool { return false }), reader: library{claims: claims{}}}
	f.begin()
	return f
}

func (f *fixture) begin() {
	f.books, _ = ledger.New(f.Dimensions, nil, []ledger.QueueSpec{{Name: "q"}})
	f.Begin(f.reader, catalog())
}

// object returns a pod that requests resources and names cards, if any.
func object(name, cards, requests string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: *cardPod(requests)}
	if cards != "" {
		p.Annotations = map[string]string{card.NameAnnotation: cards}
	}
	return p
}

// count adds a pod if it is unknown, and refreshes it.
func (f *fixture) count(object *corev1.Pod) *Pod {
	f.Helper()
	pod, err := f.countAs(object, Values{MilliCPU: 1000})
	if err != nil {
		f.Fatal(err)
	}
	return pod
}

// countAs is count for a pod with these requests.
func (f *fixture) countAs(object *corev1.Pod, requests Values) (pod *Pod, err error) {
	if pod = f.Known(object); pod == nil || f.Outdated(pod) {
		pod, err = f.Add(object, requests, scalarsOf(object))
	}
	f.Refresh(pod)
	return pod, err
}

// assign gives a pod the cards of a node, like a placement.
func (f *fixture) assign(pod *Pod, node string) {
	f.Helper()
	if err := pod.Cards.Assign(f.books, f.Fleet.Node(node), nil); err != nil {
		f.Fatal(err)
	}
	f.Remember(pod)
}

func (f *fixture) expectCards(when string, pod *Pod, want string) {
	f.Helper()
	if pod.Cards == nil {
		f.Fatalf("%s: the pod has no cards", when)
	}
	if got := text(f.Dimensions, pod.Cards.Part.Amounts()); got != want {
		f.Errorf("%s: the pod is charged %q, want %q", when, got, want)
	}
}

// rename changes the model of node a.
func (f *fixture) rename(model string) {
	f.Fleet.Set("a", card.Node{Model: model, Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: model, Count: 8}}})
}

func TestAPodThatHasNotChangedCostsALookup(t *testing.T) {
	f := newFixture(t)
	p := object("p", "", "nvidia.com/gpu=2")
	first := f.count(p)
	cards, demand := first.Cards, first.Demand
	f.begin()
	if f.Known(p) != first {
		t.Fatal("the pod is not remembered")
	}
	if f.count(p); first.Cards != cards || &first.Demand[0] != &demand[0] || first.Demand[1] != demand[1] {
		t.Error("the pod is counted anew although nothing has changed")
	}
	var reader dra.ClaimReader = f.reader
	if allocated := testing.AllocsPerRun(10, func() {
		f.Begin(reader, nil)
		f.Refresh(f.Known(p))
	}); allocated > 0 {
		t.Errorf("a pod that has not changed allocates %g times", allocated)
	}
	f.rename("C")
	f.begin()
	if f.count(p); first.Cards == cards {
		t.Error("the pod is not counted anew although there is another card")
	}
}

func TestTheDemandStaysTheSameDuringARound(t *testing.T) {
	f := newFixture(t)
	pod := f.count(object("p", "", "nvidia.com/gpu=2"))
	before := pod.Cards
	f.rename("C")
	if f.Refresh(pod); pod.Cards != before {
		t.Error("the pod is counted twice in one round")
	}
}

func TestForget(t *testing.T) {
	f := newFixture(t)
	runs, over, plain := object("runs", "A", "nvidia.com/gpu=1"), object("over", "A", "nvidia.com/gpu=1"), object("plain", "", "")
	for _, p := range []*corev1.Pod{runs, over} {
		f.assign(f.count(p), "a")
	}
	f.count(plain)
	f.begin()
	f.count(plain)
	f.Forget(func(pod *corev1.Pod) bool { return pod == runs })
	if f.Known(runs) != nil || f.Known(over) != nil || f.Known(plain) == nil {
		t.Error("a pod that nobody asks for is remembered, or one that somebody asks for is not")
	}
	if f.Assigned() != 1 {
		t.Errorf("the cards of %d pods are remembered, want those of the one that runs", f.Assigned())
	}
	f.rename("C")
	f.begin()
	f.expectCards("the job of the pod that runs is back", f.count(runs), "A:1")
	f.expectCards("the job of the other pod is back", f.count(over), "")
}

func TestForgetDropsNothingIfAllPodsAreAskedFor(t *testing.T) {
	f := newFixture(t)
	p := object("p", "", "")
	f.count(p)
	f.begin()
	f.count(p)
	if f.Forget(nil); f.Known(p) == nil {
		t.Error("the only pod is forgotten")
	}
}

// TestNamesThatUsersMakeUpHaveNoDimension matters because a user can write any number of names, and each dimension costs memory
// in every queue.
func TestNamesThatUsersMakeUpHaveNoDimension(t *testing.T) {
	f := newFixture(t)
	f.Configure(Options{}, Serving{})
	before := f.Dimensions.Len()
	p := object("p", "", "example.com/made-up=2")
	count := func() *Pod {
		pod, _ := f.countAs(p, Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"example.com/made-up": 2000}})
		return pod
	}
	var unknown UnknownResourceError
	if pod := count(); !errors.As(pod.Err, &unknown) || unknown.Resource != "example.com/made-up" || unknown.Amount != ledger.Units(2) || text(f.Dimensions, pod.Resources.Amounts()) != "cpu:1" {
		t.Errorf("the pod comes to %q, error %v", text(f.Dimensions, pod.Resources.Amounts()), pod.Err)
	}
	if _, unknown := f.Resources.Minimum(corev1.ResourceList{"example.com/b": resource.MustParse("3"), "example.com/a": resource.MustParse("1"), "count/pods": resource.MustParse("9")}, nil); unknown.Resource != "example.com/a" || unknown.Amount != ledger.Units(1) {
		t.Errorf("unknown is %v", unknown)
	}
	if f.Dimensions.Len() != before {
		t.Errorf("there are %d dimensions, before there were %d", f.Dimensions.Len(), before)
	}
	f.begin()
	f.Configure(Options{}, Serving{Class: func(name corev1.ResourceName) string {
		return map[corev1.ResourceName]string{"example.com/made-up": "h200"}[name]
	}})
	if text(f.Dimensions, count().Resources.Amounts()) != "cpu:1 example.com/made-up:2" {
		t.Errorf("a class offers the resource: the pod comes to %q", text(f.Dimensions, count().Resources.Amounts()))
	}
}

func TestAResourceThatANodeBringsIsCounted(t *testing.T) {
	f := newFixture(t)
	p := object("p", "", "example.com/new=2")
	values := Values{Scalars: map[corev1.ResourceName]float64{"example.com/new": 2000}}
	pod, err := f.Add(p, values, scalarsOf(p))
	f.Refresh(pod)
	if err == nil || pod.Err == nil || f.Outdated(pod) {
		t.Errorf("errors are %v and %v", err, pod.Err)
	}
	f.begin()
	if _, err := f.Resources.Amounts(values); err != nil || !f.Outdated(pod) {
		t.Error("the pod is not counted anew")
	}
	pod, err = f.Add(p, values, scalarsOf(p))
	if f.Refresh(pod); err != nil || pod.Err != nil || text(f.Dimensions, pod.Resources.Amounts()) != "example.com/new:2" {
		t.Errorf("the pod comes to %q, errors are %v and %v", text(f.Dimensions, pod.Resources.Amounts()), err, pod.Err)
	}
}

func TestPodThatIsAskedForTwiceHidesNoneThatIsGone(t *testing.T) {
	f := newFixture(t)
	twice, gone := object("twice", "", ""), object("gone", "", "")
	f.count(twice)
	f.count(gone)
	f.begin()
	f.count(twice)
	f.count(twice)
	var names []string
	for pod := range f.Unasked {
		names = append(names, pod.Object.Name)
	}
	if f.Forget(func(*corev1.Pod) bool { return false }); !slices.Equal(names, []string{"gone"}) || f.Known(gone) != nil {
		t.Errorf("nobody asked for %v; pod gone is still known: %v", names, f.Known(gone) != nil)
	}
}

func TestConfigureCountsAnewIfAnAnswerChanges(t *testing.T) {
	none := func(corev1.ResourceName) string { return "" }
	h200 := func(name corev1.ResourceName) string {
		return map[corev1.ResourceName]string{"example.com/gpu": "h200"}[name]
	}
	for _, c := range []struct {
		name    string
		options Options
		classOf func(corev1.ResourceName) string
		anew    bool
		want    string
	}{
		{name: "nothing changes", classOf: none, want: "cpu:1 example.com/gpu:2"},
		{name: "a class offers the resource", classOf: h200, anew: true, want: "cpu:1 example.com/gpu:2"},
		{name: "only cpu, memory and cards count", options: Options{CapacityCardMode: true}, classOf: none, anew: true, want: "cpu:1"},
		{name: "cpu is not checked", options: Options{CardUnlimitedCPUMemory: true}, classOf: none, anew: true, want: "cpu:1 example.com/gpu:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.Configure(Options{}, Serving{Class: none})
			f.Resources.Ordinal("example.com/gpu") // a node offers it
			p := object("p", "", "example.com/gpu=2")
			count := func() *Pod {
				pod, _ := f.countAs(p, Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"example.com/gpu": 2000}})
				return pod
			}
			before := count()
			f.Configure(c.options, Serving{Class: c.classOf})
			if (f.Known(p) == nil) != c.anew {
				t.Errorf("the pod is counted anew: %t, want %t", f.Known(p) == nil, c.anew)
			}
			f.begin()
			after := count()
			if got := text(f.Dimensions, after.Resources.Amounts()); got != c.want || (after == before) == c.anew {
				t.Errorf("the pod comes to %q, want %q", got, c.want)
			}
			if offered := c.classOf("example.com/gpu") != ""; after.RequestsExtended() != offered {
				t.Errorf("the pod requests an extended resource: %t, want %t", after.RequestsExtended(), offered)
			}
		})
	}
}

func TestPodsThatAskForTheSameShareTheirLists(t *testing.T) {
	f := newFixture(t)
	a, b := f.count(object("a", "", "")), f.count(object("b", "", ""))
	if &a.Resources == &b.Resources || text(f.Dimensions, b.Resources.Amounts()) != "cpu:1" {
		t.Errorf("the second pod comes to %q", text(f.Dimensions, b.Resources.Amounts()))
	}
	if err := f.books.Charge(0, "a", a.Demand); err != nil {
		t.Fatal(err)
	}
	if f.books.Charged(&b.Resources) {
		t.Error("the second pod is charged with the first one")
	}
}

// scalarsOf returns the requests of a pod's containers in thousandths.
func scalarsOf(pod *corev1.Pod) map[corev1.ResourceName]float64 {
	scalars := map[corev1.ResourceName]float64{}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name, quantity := range containers[i].Resources.Requests {
				scalars[name] = float64(quantity.MilliValue())
			}
		}
	}
	return scalars
}
