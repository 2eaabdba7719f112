// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// node has allocatable resources, as words such as nvidia.com/gpu=8, and a label for its model, empty for none.
func node(name, model, allocatable string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Status: corev1.NodeStatus{Allocatable: list(allocatable)}}
	if model != "" {
		n.Labels["nvidia.com/gpu.product"] = model
	}
	return n
}

func list(words string) corev1.ResourceList {
	resources := corev1.ResourceList{}
	for word := range strings.FieldsSeq(words) {
		name, number, _ := strings.Cut(word, "=")
		resources[corev1.ResourceName(name)] = resource.MustParse(number)
	}
	return resources
}

// must ends a test with an error, unless it is nil.
func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// fixture has nodes, and a queue q below root.
type fixture struct {
	*testing.T
	fleet   *card.Fleet
	nodes   map[string]*corev1.Node
	counter *demand.Counter
	books   *ledger.Ledger
	session *Session
	// holders are the nodes on which a pod holds what the queue lacks.
	holders map[string]bool
}

// newFixture gives queue q a card quota, as words such as A=2. All other cards are forbidden there. names are the
// resources that stand for cards, nil for the default.
func newFixture(t *testing.T, quota string, names card.ResourceNames, nodes ...*corev1.Node) *fixture {
	f := &fixture{T: t, fleet: &card.Fleet{Given: names}, nodes: map[string]*corev1.Node{}, holders: map[string]bool{}}
	for _, n := range nodes {
		f.nodes[n.Name] = n
		f.fleet.Set(n.Name, card.Read(n, names))
	}
	f.counter = demand.NewCounter(f.fleet, func(corev1.ResourceName) bool { return false })
	f.books, _ = ledger.New(f.counter.Dimensions, nil, []ledger.QueueSpec{{Name: "root"}, {Name: "q", Parent: "root", Capability: f.amounts(quota), ListsCards: true}})
	f.counter.Begin(nil, nil)
	f.session = &Session{Fleet: f.fleet, Weight: 2, Holds: func(node *api.NodeInfo, _ string, _ ledger.Ordinal) bool { return f.holders[node.Name] }}
	return f
}

// amounts parses words such as A=2, and cpu=2 for cores.
func (f *fixture) amounts(words string) ledger.Amounts {
	var amounts ledger.Amounts
	for name, quantity := range list(words) {
		dimension := ledger.Dimension{Kind: ledger.Card, Name: string(name)}
		if name == corev1.ResourceCPU {
			dimension.Kind = ledger.Resource
		}
		amounts = append(amounts, ledger.Entry{Dimension: f.counter.Dimensions.Ordinal(dimension), Amount: ledger.Units(quantity.Value())})
	}
	return amounts
}

// charge makes a pod of queue q hold cards.
func (f *fixture) charge(words string) {
	q, _ := f.books.Queue("q")
	must(f, f.books.Charge(q, "holder", ledger.Demand{ledger.NewPart(f.amounts(words))}))
}

// pod makes a pod of queue q that names cards, empty for none, and requests resources.
func (f *fixture) pod(names, requests string) *demand.Pod {
	f.Helper()
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(requests)}}}},
	}
	if names != "" {
		object.Annotations = map[string]string{card.NameAnnotation: names}
	}
	scalars := map[corev1.ResourceName]float64{}
	for name, quantity := range object.Spec.Containers[0].Resources.Requests {
		scalars[name] = float64(quantity.MilliValue())
	}
	pod, err := f.counter.Add(object, demand.Values{MilliCPU: scalars[corev1.ResourceCPU]}, scalars)
	must(f, err)
	f.counter.Refresh(pod)
	pod.Queue, pod.InLedger = f.books.Queue("q")
	return pod
}

func (f *fixture) preFilter(pod *demand.Pod) State {
	f.Helper()
	state, err := PreFilter(f.books, pod)
	must(f, err)
	return state
}
