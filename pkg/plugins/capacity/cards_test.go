// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
	"github.com/devicequota/devicequota/pkg/settings"
)

// model labels the i-th node, counted from 1, with a card model.
func (s *fixture) model(i int, model string) *fixture {
	s.Nodes[i-1].Labels = map[string]string{"nvidia.com/gpu.product": model}
	return s
}

// withCards gives queues card quotas.
func (s *fixture) withCards(quotas map[string]string) *fixture {
	s.publish(func(q *schedulingv1beta1.Queue) {
		if quota, carries := quotas[q.Name]; carries {
			q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: quota}
		}
	})
	return s
}

// gpuPod asks for GPUs and a core. It names cards unless names is empty.
func gpuPod(name, node string, gpus int, names string) *corev1.Pod {
	requests := gpu(gpus)
	requests[corev1.ResourceCPU] = resource.MustParse("1")
	p := newPod(name, node, requests)
	if names != "" {
		p.Annotations[card.NameAnnotation] = names
	}
	return p
}

// twice makes a pod request as many example.com/gpu as GPUs.
func twice(pod *corev1.Pod) *corev1.Pod {
	requests := pod.Spec.Containers[0].Resources.Requests
	requests["example.com/gpu"] = requests["nvidia.com/gpu"]
	return pod
}

func (p *plugin) cardsOfQueue(queue, name string) string {
	return p.cardsIn(ledger.Allocated, queue, name)
}

func (p *plugin) cardsIn(account ledger.Account, queue, name string) string {
	id, _ := p.snapshot.Ledger.Queue(queue)
	return p.snapshot.Ledger.Balance(id, account, p.snapshot.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})).String()
}

// nodesOf returns the nodes of a session's pods, sorted.
func nodesOf(ssn *framework.Session) string {
	var all []string
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			all = append(all, task.Name+"@"+task.NodeName)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestCardsAreAllocated(t *testing.T) {
	const rich, h100, both = `{"H100": 16, "A100": 16}`, `{"H100": 16}`, `{"H100": 2, "A100": 4}`
	for _, c := range []struct {
		name      string
		quota     string
		pods      []*corev1.Pod
		want      string
		wantEvent string
		// reason is the reason of the event, InsufficientScalarQuota if empty.
		reason  string
		charged string
		with    framework.Arguments
		nodes   func(*fixture)
	}{
		{name: "a pod runs on the model that it names, without an affinity", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "A100")}, want: "p@n2", charged: "A100:1"},
		{name: "a pod that names none is charged for what its node has", quota: h100, pods: []*corev1.Pod{gpuPod("p", "", 3, "")}, want: "p@n1", charged: "H100:3"},
		{name: "one card too many", quota: `{"H100": 3}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "H100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <4>, total would be <4>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a card that is not listed", quota: h100, pods: []*corev1.Pod{gpuPod("p", "", 1, "A100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <A100> quota: requested <1>, total would be <1>, but capability is <0>"},
		{name: "a pod that names none does not get round the quota", quota: `{"H100": 3}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <4>, total would be <4>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota; nor is there quota for another card that the pod may get: A100"},
		{name: "the leftmost that fits", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 3, "H100|A100")}, want: "p@n2", charged: "A100:3"},
		{name: "the preferred one if both fit", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 3, "A100|H100")}, want: "p@n2", charged: "A100:3"},
		{name: "pods of one job on different models", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 2, "H100|A100"), gpuPod("r", "", 2, "H100|A100"), gpuPod("s", "", 2, "A100")},
			want: "p@n1 r@n2 s@n2", charged: "H100:2 A100:4"},
		{name: "neither fits", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 5, "H100|A100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <5>, total would be <5>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota; nor is there quota for another card that the pod may get: A100"},
		{name: "a name that makes no sense", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100||A100")}, want: "p@", reason: report.TaskRequestFailedReason,
			wantEvent: `its annotation volcano.sh/card.name is wrong at character 5: "" is not a card name`},
		{name: "a card that no node has", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "B200")}, want: "p@", reason: report.TaskRequestFailedReason,
			wantEvent: "no node has a card B200: it waits for one, or correct its annotation volcano.sh/card.name; the nodes have A100, H100"},
		{name: "one of the names is enough", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "B200|A100")}, want: "p@n2", charged: "A100:1"},
		{name: "cards of different resources", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100|Ascend-910B")}, want: "p@", reason: report.TaskRequestFailedReason,
			nodes: func(s *fixture) {
				s.Nodes = append(s.Nodes, s.Nodes[0].DeepCopy())
				s.Nodes[2].Name, s.Nodes[2].Labels = "n3", map[string]string{"huawei.com/npu.product": "Ascend-910B"}
				s.Nodes[2].Status.Allocatable["huawei.com/Ascend910"] = resource.MustParse("8")
			},
			wantEvent: "H100 and Ascend-910B are cards of different resources, nvidia.com/gpu and huawei.com/Ascend910, and a pod that requests both gets one card of each: name cards of one resource only"},
		{name: "a node whose card nobody knows", quota: `{"A100": 8}`, pods: []*corev1.Pod{gpuPod("p", "", 6, "")}, want: "p@",
			nodes: func(s *fixture) {
				s.Nodes[0].Labels = nil
				s.Nodes[1].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
			}},
		{name: "nodes of which nobody knows any card", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "")}, want: "p@", reason: report.TaskRequestFailedReason,
			nodes:     func(s *fixture) { s.Nodes[0].Labels, s.Nodes[1].Labels = nil, nil },
			wantEvent: "it requests nvidia.com/gpu, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product"},
		{name: "two resources that stand for one card", quota: `{"H100": 3}`, pods: []*corev1.Pod{twice(gpuPod("p", "", 2, "H100"))}, want: "p@",
			with: framework.Arguments{settings.CardResourceNames: "nvidia.com/gpu,example.com/gpu"}, nodes: func(s *fixture) { s.Nodes[0].Status.Allocatable["example.com/gpu"] = resource.MustParse("8") }},
		{name: "and fit together", quota: `{"H100": 4}`, pods: []*corev1.Pod{twice(gpuPod("p", "", 2, "H100"))}, want: "p@n1", charged: "H100:4",
			with: framework.Arguments{settings.CardResourceNames: "nvidia.com/gpu,example.com/gpu"}, nodes: func(s *fixture) { s.Nodes[0].Status.Allocatable["example.com/gpu"] = resource.MustParse("8") }},
		{name: "cards do not lift the limit of cpu", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100"), gpuPod("r", "", 1, "H100"), gpuPod("s", "", 1, "H100")},
			want: "p@ r@ s@", reason: refusals.InsufficientCPUQuotaReason, wantEvent: "Queue <q> has insufficient <cpu> quota: requested <1>, total would be <3>, but capability is <2>",
			nodes: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(2) }},
		{name: "unless they shall", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100"), gpuPod("r", "", 1, "H100"), gpuPod("s", "", 1, "H100")},
			want: "p@n1 r@n1 s@n1", charged: "H100:3", with: framework.Arguments{settings.CardUnlimitedCPUMemory: true},
			nodes: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(2) }},
		{name: "but not for pods without cards", quota: rich, pods: []*corev1.Pod{newPod("p", "", cpu(3))}, want: "p@", reason: refusals.InsufficientCPUQuotaReason,
			wantEvent: "Queue <q> has insufficient <cpu> quota: requested <3>, total would be <3>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota", with: framework.Arguments{settings.CardUnlimitedCPUMemory: true},
			nodes: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(2) }},
		{name: "nor for pods that only name one", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 0, "H100"), gpuPod("r", "", 0, "H100"), gpuPod("s", "", 0, "H100")}, want: "p@ r@ s@",
			reason: refusals.InsufficientCPUQuotaReason, wantEvent: "Queue <q> has insufficient <cpu> quota: requested <1>, total would be <3>, but capability is <2>", with: framework.Arguments{settings.CardUnlimitedCPUMemory: true},
			nodes: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
			if s.arguments = c.with; c.nodes != nil {
				c.nodes(s)
			}
			s.withCards(map[string]string{"q": c.quota}).job("j", "q", inqueue, nil, c.pods...)
			ssn := s.act(t)
			if got := nodesOf(ssn); got != c.want {
				t.Errorf("pods are %s, want %s", got, c.want)
			}
			p := pluginOf(ssn)
			for want := range strings.FieldsSeq(c.charged) {
				name, _, _ := strings.Cut(want, ":")
				if got := name + ":" + p.cardsOfQueue("q", name); got != want || p.cardsOfQueue("root", name) != p.cardsOfQueue("q", name) {
					t.Errorf("charged %s, root %s, want %s", got, p.cardsOfQueue("root", name), want)
				}
			}
			framework.CloseSession(ssn)
			if reason := c.reason; c.wantEvent != "" {
				if reason == "" {
					reason = refusals.InsufficientScalarQuotaReason
				}
				last := c.pods[len(c.pods)-1].Name
				expectEvent(t, ssn.KubeClient(), "Pod", last, reason, c.wantEvent)
			}
		})
	}
}

// TestCardsWithoutAQuota: an existing cluster can switch to this plugin without losing a pod.
func TestCardsWithoutAQuota(t *testing.T) {
	for _, c := range []struct {
		name, plugin string
		with         framework.Arguments
		want         string
	}{
		{name: "capacity leaves them alone, on nodes without labels, too", plugin: Name, want: "named@n1 running@n2 unnamed@n2"},
		{name: "capacity refuses them if a quota is required", plugin: Name, with: framework.Arguments{settings.CardQuotaRequired: true}, want: "named@ running@n2 unnamed@"},
		{name: "capacity-card requires one", plugin: CardName, want: "named@ running@n2 unnamed@"},
		{name: "unless it is told not to", plugin: CardName, with: framework.Arguments{settings.CardQuotaRequired: false}, want: "named@n1 running@n2 unnamed@n2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).withCards(nil)
			s.name, s.arguments = c.plugin, c.with
			s.Nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
			s.job("i", "q", running, nil, gpuPod("running", "n2", 1, ""))
			s.job("j", "q", inqueue, nil, gpuPod("named", "", 1, "H100"))
			s.job("k", "q", inqueue, nil, gpuPod("unnamed", "", 6, ""))
			ssn := s.act(t)
			if got := nodesOf(ssn); got != c.want {
				t.Errorf("pods are %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if strings.Contains(c.want, "named@ ") {
				expectEvent(t, ssn.KubeClient(), "Pod", "named", refusals.EmptyQueueCapabilityReason,
					"Queue <q> has insufficient <H100> quota: requested <1>, total would be <1>, but capability is <0>; the queue has no card quota: list the card in its annotation volcano.sh/card.quota")
			}
		})
	}
}

// TestCapacityCardLooksAtCardsCPUAndMemoryOnly: it ignores other resources and parents.
func TestCapacityCardLooksAtCardsCPUAndMemoryOnly(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("parent", "root", func(spec *scheduling.QueueSpec) { spec.Capability = cpu(1) })
	s.queue("q", "parent", func(spec *scheduling.QueueSpec) {
		spec.Capability = corev1.ResourceList{"cpu": resource.MustParse("3"), "nvidia.com/gpu": resource.MustParse("1")}
	})
	s.name = CardName
	s.withCards(map[string]string{"q": `{"H100": 8}`})
	s.job("j", "q", inqueue, nil, gpuPod("fits", "", 6, "H100"))
	s.job("k", "q", inqueue, nil, newPod("large", "", cpu(3)))
	ssn := s.act(t)
	if got, want := nodesOf(ssn), "fits@n1 large@"; got != want {
		t.Errorf("pods are %s, want %s", got, want)
	}
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Pod", "large", refusals.InsufficientCPUQuotaReason, "requested <3>, total would be <4>, but capability is <3>")
}

func TestCardsOfAncestors(t *testing.T) {
	for _, c := range []struct{ name, parent, child, want, message string }{
		{name: "the parent's number holds for its children together", parent: `{"H100": 4}`, child: `{"H100": 8}`, want: "other@n1 p@",
			message: "Queue <parent> has insufficient <H100> quota: requested <2>, total would be <5>, but capability is <4>"},
		{name: "without a list of its own, a queue has its parent's", parent: `{"H100": 5}`, want: "other@n1 p@n1"},
		{name: "which may not have the card", parent: `{"A100": 5}`, want: "other@n1 p@", message: "Queue <child> has insufficient <H100> quota: requested <2>, total would be <2>, but capability is <0>"},
		{name: "a list of its own decides what may be used", parent: `{"A100": 5}`, child: `{"H100": 8}`, want: "other@n1 p@n1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("parent", "root", nil).queue("child", "parent", nil).queue("sibling", "parent", nil)
			quotas := map[string]string{"parent": c.parent}
			if c.child != "" {
				quotas["child"] = c.child
			}
			s.withCards(quotas)
			s.job("i", "sibling", running, nil, gpuPod("other", "n1", 3, ""))
			s.job("j", "child", inqueue, nil, gpuPod("p", "", 2, "H100"))
			ssn := s.act(t)
			if got := nodesOf(ssn); got != c.want {
				t.Errorf("pods are %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if c.message != "" {
				expectEvent(t, ssn.KubeClient(), "Pod", "p", refusals.InsufficientScalarQuotaReason, c.message)
			}
		})
	}
}

func TestNodeOrderPrefersWhatIsNamedFirst(t *testing.T) {
	s := newFixture(8, 8, 8, 8).model(1, "A").model(2, "B").model(3, "C").queue("root", "", nil).queue("q", "root", nil).withCards(nil)
	s.arguments = framework.Arguments{settings.NodeOrderWeight: 3}
	s.job("j", "q", inqueue, nil, gpuPod("p", "", 1, "B|C|A"), gpuPod("any", "", 1, ""))
	ssn := s.open(t)
	for node, want := range map[string]float64{"n1": 75, "n2": 300, "n3": 150, "n4": 0} {
		if got, err := pluginOf(ssn).nodeOrder(taskOf(ssn, "p"), ssn.Nodes[node]); got != want || err != nil {
			t.Errorf("%s scores %g (%v), want %g", node, got, err, want)
		}
		if got, err := pluginOf(ssn).nodeOrder(taskOf(ssn, "any"), ssn.Nodes[node]); got != 0 || err != nil {
			t.Errorf("%s scores %g (%v) for a pod that names nothing", node, got, err)
		}
	}
}

// TestOneCardIsUsedUpAndTheNodesOfTheOtherAreFull: neither reason alone explains why the pod waits.
func TestOneCardIsUsedUpAndTheNodesOfTheOtherAreFull(t *testing.T) {
	s := newFixture(8, 8).model(1, "A").model(2, "B").queue("root", "", nil).queue("q", "root", nil).queue("other", "root", nil)
	s.withCards(map[string]string{"q": `{"A": 2, "B": 8}`, "other": `{"B": 8}`})
	s.job("a", "q", running, nil, gpuPod("a", "n1", 2, "A")).job("b", "other", running, nil, gpuPod("b", "n2", 8, "B"))
	s.job("wants", "q", inqueue, nil, gpuPod("wants", "", 1, "A|B"))
	ssn := s.act(t)
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Pod", "wants", refusals.InsufficientScalarQuotaReason,
		"Queue <q> has insufficient <A> quota: requested <1>, total would be <3>, but capability is <2>; there is quota for B, but no node for the pod: 0/2 nodes are unavailable: 1 Insufficient nvidia.com/gpu, 1 no quota for <A>.")
}
