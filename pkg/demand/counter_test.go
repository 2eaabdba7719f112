package demand

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// begin begins a round, with a ledger in which nothing is charged.
func (f *fixture) begin() {
	f.books, _ = ledger.New(f.Dimensions, nil, []ledger.QueueSpec{{Name: "q"}})
	f.Begin(f.reader, catalog())
}

// object is a pod that names cards, empty for none, and requests resources.
func object(name, cards, requests string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: *cardPod(requests)}
	if cards != "" {
		p.Annotations = map[string]string{card.NameAnnotation: cards}
	}
	return p
}

// count adds a pod if it is not known, and refreshes it.
func (f *fixture) count(object *corev1.Pod) *Pod {
	f.Helper()
	pod := f.Known(object)
	if pod == nil {
		var err error
		if pod, err = f.Add(object, Values{MilliCPU: 1000}); err != nil {
			f.Fatal(err)
		}
	}
	f.Refresh(pod)
	return pod
}

// assign gives a pod the cards of a node, as when it is placed.
func (f *fixture) assign(pod *Pod, node string) {
	f.Helper()
	if err := pod.Cards.Assign(f.books, f.Fleet.Node(node)); err != nil {
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

// rename gives node a another model.
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
	f.Forget(1, func(pod *corev1.Pod) bool { return pod == runs })
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
	if f.Forget(1, nil); f.Known(p) == nil {
		t.Error("the only pod is forgotten")
	}
}

func TestCardsStayAssigned(t *testing.T) {
	for _, c := range []struct {
		name string
		// change happens between two rounds. It returns the pod as it is then.
		change func(*fixture, *corev1.Pod) *corev1.Pod
		want   string
	}{
		{"nothing changes", func(_ *fixture, p *corev1.Pod) *corev1.Pod { return p }, "A:2"},
		{"the label of the node changes", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.rename("C"); return p }, "A:2"},
		{"the label is gone", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Fleet.Set("a", card.Node{}); return p }, "A:2"},
		{"the node is gone", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Fleet.Remove("a"); return p }, "A:2"},
		{"all nodes with cards are gone", func(f *fixture, p *corev1.Pod) *corev1.Pod {
			for _, node := range []string{"a", "b", "n", "l"} {
				f.Fleet.Remove(node)
			}
			return p
		}, "A:2"},
		{"the pod changes", func(_ *fixture, p *corev1.Pod) *corev1.Pod { return p.DeepCopy() }, "A:2"},
		{"its annotation changes", func(_ *fixture, _ *corev1.Pod) *corev1.Pod { return object("p", "B", "nvidia.com/gpu=2") }, "A:2"},
		{"its annotation becomes invalid", func(_ *fixture, _ *corev1.Pod) *corev1.Pod { return object("p", "A B", "nvidia.com/gpu=2") }, "A:2"},
		{"the counter is reset", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Reset(); return p }, "A:2"},
		{"the pod was deleted and created again", func(_ *fixture, p *corev1.Pod) *corev1.Pod {
			p = p.DeepCopy()
			p.UID = "another"
			return p
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			p := object("p", "A", "nvidia.com/gpu=2")
			pod := f.count(p)
			f.assign(pod, "a")
			f.expectCards("the pod is placed", pod, "A:2")
			p = c.change(f, p)
			f.begin()
			after := f.count(p)
			f.expectCards("in the next round", after, c.want)
			if after.Cards.Assigned() != (c.want != "") || after.Cards.Charged() != (c.want != "") {
				t.Errorf("the pod has a node: %t, is charged: %t", after.Cards.Assigned(), after.Cards.Charged())
			}
			if c.want == "" {
				return
			}
			f.assign(after, "a")
			f.expectCards("the session assigns the cards of its node", after, c.want)
			if err := f.Unassign(after, f.books); err != nil {
				t.Fatal(err)
			}
			if f.expectCards("the pod has no node any more", after, ""); f.Assigned() != 0 {
				t.Error("its cards are still remembered")
			}
		})
	}
}

func TestCardsThatGetANameLaterAreCharged(t *testing.T) {
	f := newFixture(t)
	pod := f.count(object("p", "", "nvidia.com/gpu=2 nvidia.com/mig-1g=1"))
	f.Fleet.Set("a", card.Node{Model: "A", Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: "A", Count: 8}}})
	f.assign(pod, "a")
	f.expectCards("one of two cards has a name", pod, "A:2")
	f.Fleet.Set("a", cardNode("C"))
	f.assign(pod, "a")
	f.expectCards("the other one has a name, too", pod, "A:2 C/mig-1g-mixed:1")
}

// cardNode has whole cards and shares of a model.
func cardNode(model string) card.Node {
	return card.Node{Model: model, Offers: []card.Offer{
		{Resource: "nvidia.com/gpu", Card: model, Count: 8}, {Resource: "nvidia.com/mig-1g", Card: model + "/mig-1g-mixed", Count: 8},
	}}
}

func TestAssignCorrectsTheCharge(t *testing.T) {
	f := newFixture(t)
	pod := f.count(object("p", "A", "nvidia.com/gpu=2"))
	a := f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "A"})
	if err := f.books.Charge(0, "p", pod.Demand); err != nil {
		t.Fatal(err)
	}
	f.assign(pod, "a")
	if got := f.books.Balance(0, ledger.Allocated, a); got != ledger.Units(2) {
		t.Errorf("the queue is charged %s cards, want 2", got)
	}
	if err := f.Unassign(pod, f.books); err != nil {
		t.Fatal(err)
	}
	if got := f.books.Balance(0, ledger.Allocated, a); got.Sign() != 0 {
		t.Errorf("the queue is charged %s cards, want none", got)
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
		{name: "a class offers the resource", classOf: h200, anew: true, want: "cpu:1 h200:2"},
		{name: "only cpu, memory and cards count", options: Options{CapacityCardMode: true}, classOf: none, anew: true, want: "cpu:1"},
		{name: "cpu is not checked", options: Options{CardUnlimitedCPUMemory: true}, classOf: none, anew: true, want: "cpu:1 example.com/gpu:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.Configure(Options{}, none)
			p := object("p", "", "example.com/gpu=2")
			count := func() *Pod {
				pod := f.Known(p)
				if pod == nil {
					pod, _ = f.Add(p, Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"example.com/gpu": 2000}})
				}
				f.Refresh(pod)
				return pod
			}
			before := count()
			f.Configure(c.options, c.classOf)
			if (f.Known(p) == nil) != c.anew || f.Options() != c.options {
				t.Errorf("the pod is counted anew: %t, want %t; the options are %+v", f.Known(p) == nil, c.anew, f.Options())
			}
			f.begin()
			after := count()
			if got := text(f.Dimensions, after.Resources.Amounts()); got != c.want || (after == before) == c.anew {
				t.Errorf("the pod comes to %q, want %q", got, c.want)
			}
			if offered := c.classOf("example.com/gpu"); after.Extended.Class != offered {
				t.Errorf("the pod requests devices of class %q as an extended resource, want %q", after.Extended.Class, offered)
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
