// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// cardFleet has nodes named by their model: A and B with nvidia.com/gpu, A also with MIG, and N with huawei.com/npu. L has the
// label but no cards.
func cardFleet() *card.Fleet {
	f := &card.Fleet{}
	offer := func(resource, name string) card.Offer {
		return card.Offer{Resource: corev1.ResourceName(resource), Card: name, Count: 8}
	}
	f.Set("a", card.Node{Model: "A", Offers: []card.Offer{offer("nvidia.com/gpu", "A"), offer("nvidia.com/mig-1g", "A/mig-1g-mixed")}})
	f.Set("b", card.Node{Model: "B", Offers: []card.Offer{offer("nvidia.com/gpu", "B")}})
	f.Set("n", card.Node{Model: "N", Offers: []card.Offer{offer("huawei.com/npu", "N")}})
	f.Set("l", card.Node{Model: "L"})
	return f
}

// cardPod requests resources, as words such as nvidia.com/gpu=2.
func cardPod(requests string) *corev1.PodSpec {
	return &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: resourceList("cpu=1 " + requests)}}}}
}

func (c *Cards) text() string {
	if c == nil {
		return ""
	}
	words := []string{"names=" + strings.Join(c.Names, "|")}
	for _, r := range c.Requests {
		var among []string
		for _, a := range r.Among {
			among = append(among, a.Name)
		}
		words = append(words, fmt.Sprintf("%s:%d:%s", r.Resource, r.Count, strings.Join(among, "|")))
	}
	return strings.Join(words, " ")
}

func TestCardsOf(t *testing.T) {
	sidecar := cardPod("nvidia.com/gpu=1")
	sidecar.InitContainers = []corev1.Container{
		{RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}},
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}}},
	}
	greedy := cardPod("nvidia.com/gpu=9223372036854775807")
	greedy.Containers = append(greedy.Containers, greedy.Containers[0])
	onB := cardPod("nvidia.com/gpu=2")
	onB.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}},
	}}}
	claiming := cardPod("")
	claiming.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	for _, c := range []struct {
		name, names string
		unnamed     bool
		spec        *corev1.PodSpec
		want        string
		wantErr     string
		unknown     bool
	}{
		{name: "no cards", unnamed: true, spec: cardPod("")},
		{name: "a request without a name may be any card of the resource", unnamed: true, spec: cardPod("nvidia.com/gpu=2"), want: "names= nvidia.com/gpu:2:A|B"},
		{name: "a name", names: "B", spec: cardPod("nvidia.com/gpu=2"), want: "names=B nvidia.com/gpu:2:B"},
		{name: "names in their order", names: "B|A", spec: cardPod("nvidia.com/gpu=2"), want: "names=B|A nvidia.com/gpu:2:B|A"},
		{name: "only cards of nodes that the pod selects", unnamed: true, spec: onB, want: "names= nvidia.com/gpu:2:B"},
		{name: "a named card of no selected node may join one", names: "A", spec: onB, want: "names=A nvidia.com/gpu:2:A"},
		{name: "names that no node has are passed over", names: "X|B", spec: cardPod("nvidia.com/gpu=2"), want: "names=X|B nvidia.com/gpu:2:B"},
		{name: "a share", names: "A/mig-1g-mixed", spec: cardPod("nvidia.com/mig-1g=3"), want: "names=A/mig-1g-mixed nvidia.com/mig-1g:3:A/mig-1g-mixed"},
		{name: "a share beside a whole card that is named", names: "A", spec: cardPod("nvidia.com/gpu=1 nvidia.com/mig-1g=3"), want: "names=A nvidia.com/gpu:1:A nvidia.com/mig-1g:3:A/mig-1g-mixed"},
		{name: "a name without a request binds the pod to such nodes", names: "A", spec: cardPod(""), want: "names=A"},
		{name: "and so does a model that only a label has", names: "L", spec: cardPod(""), want: "names=L"},
		{name: "a card of which nobody knows the name", unnamed: true, spec: cardPod("nvidia.com/gpu.shared=1"), want: "names= nvidia.com/gpu.shared:1:"},
		{name: "what is no card is none", names: "A", spec: cardPod("nvidia.com/gpu=1 example.com/rdma=1"), want: "names=A nvidia.com/gpu:1:A"},
		{name: "init and sidecar containers count", names: "A", spec: sidecar, want: "names=A nvidia.com/gpu:6:A"},
		{name: "more cards than can be counted are not none", names: "A", spec: greedy, want: "names=A nvidia.com/gpu:18014398509481984:A"},
		{name: "claims say what they get", names: "X", spec: claiming},
		{name: "a name that is none", names: "A|", spec: cardPod("nvidia.com/gpu=1"), wantErr: `its annotation volcano.sh/card.name is wrong at character 2: "" is not a card name`},
		{name: "cards of different resources", names: "B|N", spec: cardPod("nvidia.com/gpu=1 huawei.com/npu=1"),
			wantErr: "its annotation volcano.sh/card.name is wrong: B and N are cards of different resources, nvidia.com/gpu and huawei.com/npu"},
		{name: "a whole card and a share", names: "A|A/mig-1g-mixed", spec: cardPod("nvidia.com/gpu=1"), wantErr: "its annotation volcano.sh/card.name is wrong: A and A/mig-1g-mixed are cards of different resources"},
		{name: "a card that no node has", names: "X|Y", spec: cardPod("nvidia.com/gpu=1"), unknown: true,
			wantErr: "no node has a card X or Y: it waits for one, or correct its annotation volcano.sh/card.name; the nodes have A, A/mig-1g-mixed, B, N"},
	} {
		t.Run(c.name, func(t *testing.T) {
			annotations := map[string]string{card.NameAnnotation: c.names}
			if c.unnamed {
				annotations = nil
			}
			got, err := CardsOf(annotations, c.spec, nil, cardFleet(), &ledger.Dimensions{})
			if got.text() != c.want {
				t.Errorf("got %q, want %q", got.text(), c.want)
			}
			if (err != nil || c.wantErr != "") && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
				t.Errorf("error %v, want %s", err, c.wantErr)
			}
			if errors.As(err, new(*UnknownCardError)) != c.unknown {
				t.Errorf("%v: is about a card that may arrive: %t", err, !c.unknown)
			}
		})
	}
}

func TestPosition(t *testing.T) {
	fleet, dimensions := cardFleet(), &ledger.Dimensions{}
	for _, c := range []struct {
		names, node string
		position    int
		runs        bool
	}{
		{names: "B|A", node: "a", position: 1, runs: true}, {names: "B|A", node: "b", runs: true},
		{names: "B|A", node: "n", position: -1}, {names: "B", node: "gone", position: -1},
		{node: "a", runs: true}, {node: "gone", runs: true},
	} {
		annotations := map[string]string{}
		if c.names != "" {
			annotations[card.NameAnnotation] = c.names
		}
		cards, err := CardsOf(annotations, cardPod("nvidia.com/gpu=2"), nil, fleet, dimensions)
		if err != nil {
			t.Fatal(err)
		}
		if position, runs := cards.Position(fleet.Node(c.node)); position != c.position || runs != c.runs {
			t.Errorf("%s on %s: position %d, runs %t", c.names, c.node, position, runs)
		}
	}
}

func (l *Least) text(dimensions *ledger.Dimensions) string {
	words := []string{}
	if len(l.Amounts) > 0 {
		words = append(words, text(dimensions, l.Amounts))
	}
	for _, s := range l.Splits {
		var names []string
		for _, o := range s.Among {
			names = append(names, dimensions.Dimension(o).Name)
		}
		words = append(words, fmt.Sprintf("%d*%d:%s", s.Shares, s.Each, strings.Join(names, "|")))
	}
	return strings.Join(words, " ")
}

func TestLeastWithout(t *testing.T) {
	dimensions := &ledger.Dimensions{}
	card := func(name string, n int64) ledger.Amounts {
		return ledger.Amounts{{Dimension: dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name}), Amount: ledger.Units(n)}}
	}
	a, b := card("A", 0)[0].Dimension, card("B", 0)[0].Dimension
	l := Least{Amounts: card("A", 2), Splits: []ledger.Split{{Shares: 3, Each: 2, Among: []ledger.Ordinal{a, b}}}}
	for _, c := range []struct {
		charged ledger.Amounts
		want    string
	}{
		{nil, "A:2 3*2:A|B"}, {card("A", 1), "A:1 3*2:A|B"}, {card("A", 2), "3*2:A|B"}, {card("A", 5), "2*2:A|B"}, {card("B", 5), "A:2 1*2:A|B"}, {card("A", 8), ""}, {card("A", 99), ""},
	} {
		rest := l.Without(c.charged)
		if got := rest.text(dimensions); got != c.want {
			t.Errorf("without %s: %q, want %q", text(dimensions, c.charged), got, c.want)
		}
	}
}

func TestCardsOfJobsWithoutPods(t *testing.T) {
	task := func(replicas int32, names, requests string) batchv1alpha1.TaskSpec {
		t := batchv1alpha1.TaskSpec{Name: "t", Replicas: replicas, Template: corev1.PodTemplateSpec{Spec: *cardPod(requests)}}
		if names != "" {
			t.Template.Annotations = map[string]string{card.NameAnnotation: names}
		}
		return t
	}
	for _, c := range []struct {
		name          string
		available     int32
		tasks         []batchv1alpha1.TaskSpec
		want, wantErr string
	}{
		{name: "tasks add up, like choices too", available: 7, tasks: []batchv1alpha1.TaskSpec{task(2, "A", "nvidia.com/gpu=4"), task(1, "A|B", "nvidia.com/gpu=2"), task(2, "A|B", "nvidia.com/gpu=2"), task(2, "A|B", "nvidia.com/gpu=1")},
			want: "A:8 3*2:A|B 2*1:A|B"},
		{name: "only what the job needs at least", available: 1, tasks: []batchv1alpha1.TaskSpec{task(4, "A", "nvidia.com/gpu=4")}, want: "A:4"},
		{name: "no names", available: 2, tasks: []batchv1alpha1.TaskSpec{task(2, "", "nvidia.com/gpu=1")}, want: "2*1:A|B"},
		{name: "a card that may arrive is not counted yet", available: 3, tasks: []batchv1alpha1.TaskSpec{task(2, "X", "nvidia.com/gpu=1"), task(1, "A", "nvidia.com/gpu=1")}, want: "A:1"},
		{name: "what makes no sense", available: 1, tasks: []batchv1alpha1.TaskSpec{task(1, "A B", "nvidia.com/gpu=1")}, wantErr: "task t: its annotation volcano.sh/card.name is wrong at character 0"},
		{name: "limits without requests are requests", available: 1, tasks: []batchv1alpha1.TaskSpec{limitsOnly(task(1, "A", "nvidia.com/gpu=4"))}, want: "A:4"},
		{name: "no cards", available: 1, tasks: []batchv1alpha1.TaskSpec{task(1, "", "")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter := NewCounter(cardFleet(), func(corev1.ResourceName) bool { return false })
			dimensions := counter.Dimensions
			j := &batchv1alpha1.Job{Spec: batchv1alpha1.JobSpec{MinAvailable: c.available, Tasks: c.tasks}}
			got, err := counter.cardsOfJob(j, MinimumPods(j, priority))
			if got.text(dimensions) != c.want || (err != nil || c.wantErr != "") && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
				t.Errorf("got %q (%v), want %q", got.text(dimensions), err, c.want)
			}
			if got.Empty() != (c.want == "") {
				t.Errorf("it is empty: %t", got.Empty())
			}
		})
	}
}

// limitsOnly has limits instead of requests, like most user manifests. The API server adds the requests only to pods.
func limitsOnly(task batchv1alpha1.TaskSpec) batchv1alpha1.TaskSpec {
	for i := range task.Template.Spec.Containers {
		resources := &task.Template.Spec.Containers[i].Resources
		resources.Limits, resources.Requests = resources.Requests, nil
	}
	return task
}

func manyEntries(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `, "X%d": 1`, i)
	}
	return text.String()
}

func TestOfRequest(t *testing.T) {
	for _, c := range []struct{ name, text, want, wantErr string }{
		{name: "cards and choices", text: `{"A": 2, "A|B": 3, "B": 0}`, want: "A:2 3*1:A|B"},
		{name: "a card that only a quota lists", text: `{"A|listed": 3}`, want: "3*1:A|listed"},
		{name: "cards that nobody knows", text: `{"A|X": 3, "Y": 1}`, want: "A:3"},
		{name: "the same names again add up", text: `{"A|B": 2, "A|B|A": 3}`, want: "5*1:A|B"},
		{name: "the largest numbers", text: `{"A|B": 9223372036854775807, "A|B|A": 1}`, wantErr: `its annotation volcano.sh/card.request is wrong in "A|B|A": `},
		{name: "too many entries", text: `{"A": 1` + manyEntries(64) + `}`,
			wantErr: "its annotation volcano.sh/card.request has 65 entries, but at most 64 are allowed: ask for fewer kinds of cards in one job"},
		{name: "no JSON", text: "A: 2", wantErr: "its annotation volcano.sh/card.request is wrong at character 0: it is not JSON"},
		{name: "no name", text: `{"A||B": 2}`, wantErr: `its annotation volcano.sh/card.request is wrong in "A||B": at character 2: "" is not a card name`},
		{name: "cards of different resources", text: `{"A|N": 2}`, wantErr: `its annotation volcano.sh/card.request is wrong in "A|N": A and N are cards of different resources`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions := &ledger.Dimensions{}
			dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "listed"})
			got, err := OfCardRequest(map[string]string{card.RequestAnnotation: c.text}, cardFleet(), dimensions)
			if got.text(dimensions) != c.want || (err != nil || c.wantErr != "") && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
				t.Errorf("got %q (%v), want %q, %s", got.text(dimensions), err, c.want, c.wantErr)
			}
		})
	}
	if got, err := OfCardRequest(nil, cardFleet(), &ledger.Dimensions{}); !got.Empty() || err != nil {
		t.Errorf("without the annotation: %v, %v", got, err)
	}
}

// Each session divides the cards of a queue among the ways. The cost grows at least with the square of their number.
func TestPodsOfAJobChooseAmongCardsInAFewWays(t *testing.T) {
	among := []Card{{Name: "a", Ordinal: 0}, {Name: "b", Ordinal: 1}}
	cards := func(count int64) *Cards { return &Cards{Requests: []CardRequest{{Count: count, Among: among}}} }
	var least Least
	for count := range int64(card.MaxRequests) {
		if err := least.Add(cards(count+1), 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := least.Add(cards(card.MaxRequests+1), 3); !errors.Is(err, ErrTooManySplits) {
		t.Errorf("error %v in one way more, want %v", err, ErrTooManySplits)
	}
	if err := least.Add(cards(1), 3); err != nil || least.Splits[0].Shares != 6 {
		t.Errorf("error %v, splits %v: more pods that choose in a way that is known count there", err, least.Splits)
	}
	if len(least.Splits) != card.MaxRequests {
		t.Errorf("%d splits, want %d", len(least.Splits), card.MaxRequests)
	}
}
