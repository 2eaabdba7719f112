// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// jobPod is a pod of a job: two cards of model A, or a claim for devices.
type jobPod struct {
	cards, claim string
	// template is the template of a claim that is not created yet.
	template string
	// node is the node of the pod, or empty. A pod with a node is charged for its cards and its claim.
	node  string
	gated bool
}

// jobPods counts pods, and charges the pods with a node.
func (f *fixture) jobPods(pods []jobPod) []JobPod {
	f.Helper()
	var counted []JobPod
	for i, p := range pods {
		o := object(string(rune('p'+i)), p.cards, "")
		if p.cards != "" {
			o = object(string(rune('p'+i)), p.cards, "nvidia.com/gpu=2")
		}
		if p.claim != "" {
			o.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim", ResourceClaimName: ptr.To(p.claim)}}
		}
		if p.template != "" {
			o.Spec.ResourceClaims = append(o.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "later", ResourceClaimTemplateName: ptr.To(p.template)})
		}
		pod := f.count(o)
		if p.node != "" {
			if pod.Cards != nil {
				f.assign(pod, p.node)
			}
			if err := f.books.Charge(0, ledger.Holder(o.UID), pod.Demand); err != nil {
				f.Fatal(err)
			}
		}
		counted = append(counted, JobPod{Pod: pod, Allocated: p.node != "", Gated: p.gated})
	}
	return counted
}

func (f *fixture) words(sum JobPods) map[string]string {
	return map[string]string{
		"needed": text(f.Dimensions, sum.Needed), "cards": sum.Cards.text(f.Dimensions), "elastic": text(f.Dimensions, sum.Elastic),
		"charged": text(f.Dimensions, sum.Charged), "chargedCards": text(f.Dimensions, sum.ChargedCards), "request": text(f.Dimensions, sum.Request), "either": text(f.Dimensions, sum.Either),
	}
}

func TestOfJobPods(t *testing.T) {
	for _, c := range []struct {
		name      string
		pods      []jobPod
		minMember int
		any       bool
		// want lists the fields that are not empty.
		want map[string]string
	}{
		{name: "pods without devices and cards", pods: []jobPod{{}, {}}, minMember: 2},
		{
			name: "pods that wait", pods: []jobPod{{claim: "one"}, {cards: "A"}}, minMember: 2, any: true,
			want: map[string]string{"needed": "a100:1", "cards": "A:2", "request": "A:2 a100:1"},
		},
		{
			name: "pods that run", pods: []jobPod{{claim: "one", node: "a"}, {cards: "A", node: "a"}}, minMember: 2, any: true,
			want: map[string]string{"charged": "a100:1", "chargedCards": "A:2", "request": "a100:1"},
		},
		{
			name: "pods beyond the minimum", pods: []jobPod{{cards: "A", node: "a"}, {cards: "A", node: "a"}, {claim: "one", node: "a"}, {claim: "two"}, {cards: "A"}}, minMember: 1, any: true,
			want: map[string]string{"elastic": "A:2 a100:1", "charged": "a100:1", "chargedCards": "A:4", "request": "A:2 a100:3"},
		},
		{
			name: "pods that a gate holds back need nothing", pods: []jobPod{{claim: "one", gated: true}, {cards: "A", gated: true}}, minMember: 2, any: true,
			want: map[string]string{"request": "A:2 a100:1"},
		},
		{
			name: "a claim that pods share counts once", pods: []jobPod{{claim: "two"}, {claim: "two"}, {claim: "one"}}, minMember: 3, any: true,
			want: map[string]string{"needed": "a100:3", "request": "a100:3"},
		},
		{
			name: "a claim that another pod is charged is not needed", pods: []jobPod{{claim: "two", node: "a"}, {claim: "two"}}, minMember: 2, any: true,
			want: map[string]string{"charged": "a100:2", "request": "a100:2"},
		},
		{
			name: "pods that may choose", pods: []jobPod{{cards: "A|B"}, {cards: "A|B"}, {cards: "B", node: "b"}}, minMember: 3, any: true,
			want: map[string]string{"cards": "2*2:A|B", "chargedCards": "B:2", "either": "A:4 B:4"},
		},
		{
			name: "claims that are created later", pods: []jobPod{{template: "template"}, {template: "choice", claim: "two"}, {template: "template"}, {template: "none"}}, minMember: 2, any: true,
			want: map[string]string{"needed": "a100:4", "request": "a100:5"},
		},
		{
			name: "claims that are created later, of pods that have a node or a gate", pods: []jobPod{{template: "template", node: "a"}, {template: "template", gated: true}},
			minMember: 2, any: true, want: map[string]string{"request": "a100:1"},
		},
		{
			name: "claims of one class or another", pods: []jobPod{{claim: "either"}, {claim: "one"}}, minMember: 2, any: true,
			want: map[string]string{"needed": "a100:1", "request": "a100:1", "either": "a100:2 h200:1"},
		},
		{name: "a pod whose annotation is wrong gets no cards", pods: []jobPod{{cards: "A B"}}, minMember: 1, any: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			one := exactly("a100", 1)
			f.reader.claims["one"], f.reader.claims["two"] = claim("one", one), claim("two", exactly("a100", 2))
			f.reader.claims["either"] = claim("either")
			f.reader.claims["either"].Spec.Devices.Requests = []resourceapi.DeviceRequest{firstAvailable(exactly("a100", 2), exactly("h200", 1))}
			f.reader.templates = map[string][]resourceapi.DeviceRequest{"template": {{Name: "r", Exactly: &one}}, "choice": {firstAvailable(exactly("a100", 2), one)}}
			f.Begin(f.reader, catalog())
			sum, errs := OfJobPods(f.books, f.jobPods(c.pods), c.minMember)
			if len(errs) > 0 || sum.Any != c.any {
				t.Errorf("some pod asks for devices or cards: %t, want %t; errors %v", sum.Any, c.any, errs)
			}
			for what, got := range f.words(sum) {
				if got != c.want[what] {
					t.Errorf("%s is %q, want %q", what, got, c.want[what])
				}
			}
		})
	}
}

// TestASharedClaimIsElasticOnce: the pods p and q are two jobs without a minimum, and share a claim.
func TestASharedClaimIsElasticOnce(t *testing.T) {
	f := newFixture(t)
	f.reader.claims["two"] = claim("two", exactly("a100", 2))
	f.Begin(f.reader, catalog())
	pods := f.jobPods([]jobPod{{claim: "two", node: "a"}, {claim: "two", node: "a"}})
	for i, want := range []string{"a100:2", ""} {
		if sum, _ := OfJobPods(f.books, pods[i:i+1], 0); text(f.Dimensions, sum.Elastic) != want {
			t.Errorf("%q is elastic in job %d, want %q", text(f.Dimensions, sum.Elastic), i, want)
		}
	}
}

func (n Needs) text(dimensions *ledger.Dimensions) string {
	least := Least{Amounts: n.Amounts, Splits: n.Splits}
	s := least.text(dimensions)
	for _, choice := range n.Choices {
		if choice.Pods > 1 {
			s += fmt.Sprintf(" %d of", choice.Pods)
		}
		for _, alternative := range choice.Alternatives {
			s += " |" + text(dimensions, alternative)
		}
	}
	return s
}

func TestJobNeeds(t *testing.T) {
	one := exactly("a100", 1)
	request := map[string]string{card.RequestAnnotation: `{"A": 6}`}
	cardTask := func(replicas int32) batchv1alpha1.TaskSpec {
		t := task("", replicas, -1)
		t.Template.Annotations, t.Template.Spec = map[string]string{card.NameAnnotation: "A"}, *cardPod("nvidia.com/gpu=2")
		return t
	}
	for _, c := range []struct {
		name      string
		minMember int
		pods      []jobPod
		// tasks are the tasks of the Volcano Job that creates the pods. If they are nil, there is no Job.
		tasks       []batchv1alpha1.TaskSpec
		annotations map[string]string
		jobErr      error
		noDevices   bool
		want        string
		any, cards  bool
		wantErr     string
		cardsErr    bool
	}{
		{name: "a job without pods and devices", minMember: 2},
		{name: "enough pods", minMember: 1, pods: []jobPod{{claim: "one"}}, want: "a100:1", any: true},
		{name: "enough pods, so that the annotation does not count", minMember: 1, pods: []jobPod{{cards: "A"}}, annotations: request, want: "A:2", any: true, cards: true},
		{name: "enough pods, so that the Job is not read", minMember: 1, pods: []jobPod{{cards: "A"}}, jobErr: errors.New("not read"), want: "A:2", any: true, cards: true},
		{name: "too few pods, and a Job that has not been read", minMember: 2, pods: []jobPod{{claim: "one"}}, jobErr: errors.New("not read"), wantErr: "not read"},
		{name: "the annotation", minMember: 2, annotations: request, want: "A:6", any: true, cards: true},
		{name: "the annotation, less what pods have", minMember: 3, pods: []jobPod{{cards: "A", node: "a"}}, annotations: request, want: "A:4", any: true, cards: true},
		{name: "an annotation that is wrong", minMember: 2, annotations: map[string]string{card.RequestAnnotation: "6"}, cardsErr: true, wantErr: "its annotation volcano.sh/card.request is wrong"},
		{name: "templates of cards", minMember: 3, tasks: []batchv1alpha1.TaskSpec{cardTask(3)}, want: "A:6", any: true, cards: true},
		{name: "templates of cards come before the annotation", minMember: 1, tasks: []batchv1alpha1.TaskSpec{cardTask(1)}, annotations: request, want: "A:2", any: true, cards: true},
		{name: "templates without cards do not", minMember: 1, tasks: []batchv1alpha1.TaskSpec{task("", 1, -1)}, annotations: request, want: "A:6", any: true, cards: true},
		{name: "templates of claims", minMember: 3, tasks: []batchv1alpha1.TaskSpec{task("", 3, -1, "template")}, want: "a100:3", any: true},
		{name: "templates of claims, less what pods have", minMember: 3, pods: []jobPod{{claim: "one", node: "a"}}, tasks: []batchv1alpha1.TaskSpec{task("", 3, -1, "template")}, want: "a100:2", any: true},
		{name: "templates of claims with a choice", minMember: 1, tasks: []batchv1alpha1.TaskSpec{task("", 1, -1, "choice")}, want: " |h200:2 |a100:1", any: true},
		{name: "templates with a choice, less what pods have", minMember: 3, pods: []jobPod{{claim: "one", node: "a"}}, tasks: []batchv1alpha1.TaskSpec{task("", 3, -1, "choice")},
			want: " 2 of |h200:2 |a100:1", any: true},
		{name: "pods with a choice", minMember: 2, pods: []jobPod{{claim: "either"}, {claim: "or"}}, want: " 2 of |h200:2 |a100:1", any: true},
		{name: "pods that have chosen", minMember: 2, pods: []jobPod{{claim: "either"}, {claim: "chosen", node: "a"}}, want: " |h200:2 |a100:1", any: true},
		{name: "a claim by name with a choice", minMember: 2, tasks: []batchv1alpha1.TaskSpec{task("", 2, -1, "=either")}, want: " |h200:2 |a100:1", any: true},
		{name: "a claim by name", minMember: 2, tasks: []batchv1alpha1.TaskSpec{task("", 2, -1, "=two")}, want: "a100:2", any: true},
		{name: "a claim by name that a pod is charged", minMember: 2, pods: []jobPod{{claim: "two", node: "a"}}, tasks: []batchv1alpha1.TaskSpec{task("", 2, -1, "=two")}, any: true},
		{name: "a claim by name for nothing", minMember: 2, tasks: []batchv1alpha1.TaskSpec{task("", 2, -1, "=nothing")}},
		{name: "a claim for nothing of a pod", minMember: 1, pods: []jobPod{{claim: "nothing"}}},
		{name: "a template that does not exist", minMember: 1, tasks: []batchv1alpha1.TaskSpec{task("", 1, -1, "lost")}, wantErr: "task task: ResourceClaimTemplate ns/lost does not exist"},
		{name: "templates of claims that nobody serves", minMember: 1, tasks: []batchv1alpha1.TaskSpec{task("", 1, -1, "lost")}, noDevices: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.reader.claims["one"], f.reader.claims["two"], f.reader.claims["nothing"] = claim("one", one), claim("two", exactly("a100", 2)), claim("nothing")
			f.reader.templates = map[string][]resourceapi.DeviceRequest{"template": {{Name: "r", Exactly: &one}}, "choice": {firstAvailable(exactly("h200", 2), one)}}
			for _, name := range []string{"either", "or", "chosen"} {
				f.reader.claims[name] = claim(name)
				f.reader.claims[name].Spec.Devices.Requests = []resourceapi.DeviceRequest{firstAvailable(exactly("h200", 2), one)}
			}
			f.reader.claims["chosen"].Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
				Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r/a100", Driver: "driver", Pool: "pool", Device: "bare"}},
			}}
			f.begin()
			pods, errs := OfJobPods(f.books, f.jobPods(c.pods), c.minMember)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got, err := f.JobNeeds(f.books, Group{
				MinMember: c.minMember, Pods: len(c.pods), Annotations: c.annotations, Priority: priority,
				Job: func() (*batchv1alpha1.Job, error) {
					if c.tasks == nil {
						return nil, c.jobErr
					}
					return job(int32(c.minMember), c.tasks...), nil
				},
			}, pods, !c.noDevices)
			if !startsWith(err, c.wantErr) || errors.As(err, new(CardsError)) != c.cardsErr {
				t.Errorf("error %v, want %q; it is about cards: %t", err, c.wantErr, !c.cardsErr)
			}
			if err == nil && (got.text(f.Dimensions) != c.want || got.Any != c.any || got.Cards != c.cards) {
				t.Errorf("the job needs %q, any: %t, cards: %t, want %q", got.text(f.Dimensions), got.Any, got.Cards, c.want)
			}
		})
	}
}
