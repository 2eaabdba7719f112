// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/quota"
)

// reasons lists the problems of queues as queue:reason.
func reasons(s *Snapshot) string {
	var all []string
	for problem := range maps.Keys(s.Problems) {
		all = append(all, problem.Queue+":"+problem.Reason)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// catalogOf has these DeviceClasses. The devices of gpu are cards B.
func catalogOf(names ...string) *dra.Catalog {
	var classes []*resourceapi.DeviceClass
	for _, name := range names {
		class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "gpu" {
			class.Annotations = map[string]string{card.NameAnnotation: "B"}
		}
		classes = append(classes, class)
	}
	return dra.NewCatalog(classes, nil)
}

func capable(words string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(queue *scheduling.Queue, _ *schedulingv1beta1.Queue) { queue.Spec.Capability = list(words) }
}

func annotated(key string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
		object.Annotations = map[string]string{key: "{}"}
	}
}

// owed sets the card annotations. Empty ones are missing.
func owed(cards, deserved, guarantee string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
		object.Annotations = map[string]string{}
		for i, text := range []string{cards, deserved, guarantee} {
			if text != "" {
				object.Annotations[quota.CardAnnotations[i]] = text
			}
		}
	}
}

func TestMistakesInQuotas(t *testing.T) {
	for _, c := range []struct {
		name       string
		top, child func(*scheduling.Queue, *schedulingv1beta1.Queue)
		notRead    bool
		required   bool
		want       string
	}{
		{name: "a class that exists and a card of a node", child: quotaOf(`{"A": 8}`, 8)},
		{name: "a card of a DeviceClass", child: quotaOf(`{"B": 8}`, 8)},
		{name: "a card that nobody has", child: quotaOf(`{"A": 8, "C": 8}`, 8), want: "child:UnknownCard"},
		{name: "a class among resources", child: capable("h100=8 cpu=1 nvidia.com/gpu=1 hugepages-2Mi=1Gi"), want: "child:ClassInCapability"},
		{name: "a name among resources that is no class", child: capable("h200=8")},
		{name: "more than the parent has", top: capable("cpu=4"), child: capable("cpu=8"), want: "child:LimitAboveParent"},
		{name: "cards that are owed", top: owed(`{"A": 8}`, "", ""), child: owed(`{"A": 8}`, `{"A": 4}`, `{"A": 2}`)},
		{name: "a card that is owed, and that nobody has", child: owed("", `{"C": 4}`, ""), want: "child:UnknownCard"},
		{name: "more cards guaranteed than deserved", child: owed("", `{"A": 1}`, `{"A": 2}`), want: "child:ContradictoryCards"},
		{name: "more cards deserved than the quota", child: owed(`{"A": 1}`, `{"A": 2}`, ""), want: "child:ContradictoryCards"},
		{name: "a guaranteed card that the quota lacks", child: owed(`{"A": 1}`, "", `{"B": 2}`), want: "child:CardNotListed"},
		{name: "a deserved card that the quota of the parent lacks", top: owed(`{"A": 1}`, "", ""), child: owed("", `{"B": 2}`, ""), want: "child:CardNotListed"},
		{name: "none of a card that the quota of the parent lacks", top: owed(`{"A": 1}`, "", ""), child: owed("", `{"B": 0}`, "")},
		{name: "a card that only the child lists, and that the parent is owed", top: owed("", "", `{"B": 2}`), child: owed(`{"B": 2}`, "", "")},
		{name: "a card that the parent is owed and does not list", top: owed(`{"A": 1}`, "", `{"B": 2}`), child: owed(`{"B": 2}`, "", ""), want: "top:CardNotListed"},
		{name: "a card where a card quota is required", required: true, child: owed("", `{"A": 2}`, ""), want: "child:CardNotListed"},
		{name: "more cards guaranteed than the parent has", top: owed(`{"A": 1}`, "", ""), child: owed("", "", `{"A": 2}`), want: "child:GuaranteeNotCovered"},
		{name: "an annotation that is nearly right", child: annotated("card-quota"), want: "child:UnknownAnnotation"},
		{name: "an annotation of somebody else", child: annotated("example.com/team")},
		{name: "nothing is judged before classes have been read", child: quotaOf(`{"C": 8}`, 8), notRead: true},
	} {
		f := newFixture(t)
		f.input.ServesClaims, f.input.Catalog = true, catalogOf("h100", "gpu")
		f.input.CardQuotaRequired = c.required
		if c.notRead {
			f.input.Catalog = nil
		}
		nothing := func(*scheduling.Queue, *schedulingv1beta1.Queue) {}
		for _, change := range []*func(*scheduling.Queue, *schedulingv1beta1.Queue){&c.top, &c.child} {
			if *change == nil {
				*change = nothing
			}
		}
		if got := reasons(f.queue("top", "root", c.top).queue("child", "top", c.child).take()); got != c.want {
			t.Errorf("%s: problems are %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMistakesComeAndGoWithWhatTheyDependOn(t *testing.T) {
	f := newFixture(t)
	f.input.ServesClaims, f.input.Catalog = true, catalogOf()
	f.queue("q", "root", quotaOf(`{"C": 8}`, 8))
	replace := func(change func(*scheduling.Queue, *schedulingv1beta1.Queue)) {
		delete(f.input.Queues, "q")
		f.queue("q", "root", change)
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"neither the class nor the card exists", func() {}, "q:UnknownCard q:UnknownDeviceClass"},
		{"nothing has changed", func() {}, "q:UnknownCard q:UnknownDeviceClass"},
		{"the class is created", func() { f.input.Catalog = catalogOf("h100") }, "q:UnknownCard"},
		{"a node with the card comes", func() {
			f.cache.Fleet.Set("n2", card.Node{Model: "C", Offers: []card.Offer{{Resource: gpu, Card: "C", Count: 8}}})
		}, ""},
		{"the node goes", func() { f.cache.Fleet.Remove("n2") }, "q:UnknownCard"},
		{"the quota changes", func() { replace(quotaOf(`{"A": 8}`, 8)) }, ""},
		{"the class is deleted", func() { f.input.Catalog = catalogOf() }, "q:UnknownDeviceClass"},
		{"the queue is deleted", func() { delete(f.input.Queues, "q") }, ""},
	} {
		step.do()
		s := f.take()
		if got := reasons(s); got != step.want {
			t.Errorf("%s: problems are %q, want %q", step.name, got, step.want)
		}
		if n := len(f.cache.mistakes.queues); n != len(f.input.Queues) {
			t.Errorf("%s: %d queues are remembered of %d", step.name, n, len(f.input.Queues))
		}
	}
}

func BenchmarkMistakesOfQueuesThatDoNotChange(b *testing.B) {
	f := newFixture(&testing.T{})
	for i := range 1000 {
		f.queue(fmt.Sprint("q", i), "root", quotaOf(`{"C": 8}`, 8))
	}
	s := f.take()
	b.ReportAllocs()
	for b.Loop() {
		for id, info := range s.Queues {
			s.mistakes.note(string(id), queueVersion{written: info.Queue, object: s.queues[info.Name].version.object})
		}
		s.findMistakes()
	}
}
