package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// model labels the i-th node, from 1, with a card model.
func (s *scene) model(i int, model string) *scene {
	s.Nodes[i-1].Labels = map[string]string{"nvidia.com/gpu.product": model}
	return s
}

// withCards gives queues card quotas.
func (s *scene) withCards(quotas map[string]string) *scene {
	s.publish(func(q *schedulingv1beta1.Queue) {
		if quota, carries := quotas[q.Name]; carries {
			q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: quota}
		}
	})
	return s
}

// gpuPod asks for GPUs and a core, and names cards unless names is empty.
func gpuPod(name, node string, gpus int, names string) *corev1.Pod {
	requests := gpu(gpus)
	requests[corev1.ResourceCPU] = resource.MustParse("1")
	p := newPod(name, node, requests)
	if names != "" {
		p.Annotations[card.NameAnnotation] = names
	}
	return p
}

func (p *plugin) cardsOfQueue(queue, name string) string {
	id, _ := p.ledger.Queue(queue)
	return p.ledger.Balance(id, ledger.Allocated, p.process.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})).String()
}

// nodesOf returns where the pods of a session are, sorted.
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
		// reason of the event is InsufficientScalarQuota if empty.
		reason  string
		charged string
		with    framework.Arguments
		nodes   func(*scene)
	}{
		{name: "a pod runs on the model that it names, without an affinity", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "A100")}, want: "p@n2", charged: "A100:1"},
		{name: "a pod that names none is charged for what its node has", quota: h100, pods: []*corev1.Pod{gpuPod("p", "", 3, "")}, want: "p@n1", charged: "H100:3"},
		{name: "one card too many", quota: `{"H100": 3}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "H100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <4>, total would be <4>, but capability is <3>"},
		{name: "a card that is not listed", quota: h100, pods: []*corev1.Pod{gpuPod("p", "", 1, "A100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <A100> quota: requested <1>, total would be <1>, but capability is <0>"},
		{name: "a pod that names none does not get round the quota", quota: `{"H100": 3}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <4>, total would be <4>, but capability is <3>; nor is there quota for another card that the pod may get: A100"},
		{name: "the leftmost that fits", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 3, "H100|A100")}, want: "p@n2", charged: "A100:3"},
		{name: "the preferred one if both fit", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 3, "A100|H100")}, want: "p@n2", charged: "A100:3"},
		{name: "pods of one job on different models", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 2, "H100|A100"), gpuPod("r", "", 2, "H100|A100"), gpuPod("s", "", 2, "A100")},
			want: "p@n1 r@n2 s@n2", charged: "H100:2 A100:4"},
		{name: "neither fits", quota: both, pods: []*corev1.Pod{gpuPod("p", "", 5, "H100|A100")}, want: "p@",
			wantEvent: "Queue <q> has insufficient <H100> quota: requested <5>, total would be <5>, but capability is <2>; nor is there quota for another card that the pod may get: A100"},
		{name: "a name that makes no sense", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100||A100")}, want: "p@", reason: taskRequestFailed,
			wantEvent: `its annotation volcano.sh/card.name is wrong at character 5: "" is no card name`},
		{name: "a card that no node has", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "B200")}, want: "p@", reason: taskRequestFailed,
			wantEvent: "no node has a card B200: it waits for one, or correct its annotation volcano.sh/card.name; the nodes have A100, H100"},
		{name: "one of the names is enough", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "B200|A100")}, want: "p@n2", charged: "A100:1"},
		{name: "cards of different resources", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100|Ascend-910B")}, want: "p@", reason: taskRequestFailed,
			nodes: func(s *scene) {
				s.Nodes = append(s.Nodes, s.Nodes[0].DeepCopy())
				s.Nodes[2].Name, s.Nodes[2].Labels = "n3", map[string]string{"huawei.com/npu.product": "Ascend-910B"}
				s.Nodes[2].Status.Allocatable["huawei.com/Ascend910"] = resource.MustParse("8")
			},
			wantEvent: "H100 and Ascend-910B are cards of different resources, nvidia.com/gpu and huawei.com/Ascend910, and a pod that requests both gets one card of each: name cards of one resource only"},
		{name: "a node whose card nobody knows", quota: `{"A100": 0, "H100": 0, "B200": 8}`, pods: []*corev1.Pod{gpuPod("p", "", 1, "")}, want: "p@",
			nodes: func(s *scene) { s.Nodes[0].Labels = nil }, wantEvent: "insufficient <A100> quota"},
		{name: "cards do not lift the limit of cpu", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100"), gpuPod("r", "", 1, "H100"), gpuPod("s", "", 1, "H100")},
			want: "p@ r@ s@", reason: insufficientCPUQuota, wantEvent: "Queue <q> has insufficient <cpu> quota: requested <1>, total would be <3>, but capability is <2>",
			nodes: func(s *scene) { s.Queues[1].Spec.Capability = cpu(2) }},
		{name: "unless they shall", quota: rich, pods: []*corev1.Pod{gpuPod("p", "", 1, "H100"), gpuPod("r", "", 1, "H100"), gpuPod("s", "", 1, "H100")},
			want: "p@n1 r@n1 s@n1", charged: "H100:3", with: framework.Arguments{cardUnlimitedCPUMemory: true},
			nodes: func(s *scene) { s.Queues[1].Spec.Capability = cpu(2) }},
		{name: "but not for pods without cards", quota: rich, pods: []*corev1.Pod{newPod("p", "", cpu(3))}, want: "p@", reason: insufficientCPUQuota,
			wantEvent: "Queue <q> has insufficient <cpu> quota: requested <3>, total would be <3>, but capability is <2>", with: framework.Arguments{cardUnlimitedCPUMemory: true},
			nodes: func(s *scene) { s.Queues[1].Spec.Capability = cpu(2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
			if s.arguments = c.with; c.nodes != nil {
				c.nodes(s)
			}
			s.withCards(map[string]string{"q": c.quota}).job("j", "q", inqueue, nil, c.pods...)
			ssn := s.run(t)
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
					reason = insufficientScalarQuota
				}
				last := c.pods[len(c.pods)-1].Name
				expectEvent(t, ssn.KubeClient(), "Pod", last, reason, c.wantEvent)
			}
		})
	}
}

// TestCardsWithoutAQuota: an existing cluster can switch over without losing a pod.
func TestCardsWithoutAQuota(t *testing.T) {
	for _, c := range []struct {
		name, plugin string
		with         framework.Arguments
		want         string
	}{
		{name: "capacity leaves them alone, on nodes without labels, too", plugin: Name, want: "named@n1 running@n2 unnamed@n2"},
		{name: "capacity refuses them if a quota is required", plugin: Name, with: framework.Arguments{cardQuotaRequired: true}, want: "named@ running@n2 unnamed@"},
		{name: "capacity-card requires one", plugin: CardName, want: "named@ running@n2 unnamed@"},
		{name: "unless it is told not to", plugin: CardName, with: framework.Arguments{cardQuotaRequired: false}, want: "named@n1 running@n2 unnamed@n2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(8, 8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).withCards(nil)
			s.name, s.arguments = c.plugin, c.with
			s.Nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
			s.job("i", "q", running, nil, gpuPod("running", "n2", 1, ""))
			s.job("j", "q", inqueue, nil, gpuPod("named", "", 1, "H100"))
			s.job("k", "q", inqueue, nil, gpuPod("unnamed", "", 6, ""))
			ssn := s.run(t)
			if got := nodesOf(ssn); got != c.want {
				t.Errorf("pods are %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if strings.Contains(c.want, "named@ ") {
				expectEvent(t, ssn.KubeClient(), "Pod", "named", emptyQueueCapability,
					"Queue <q> has insufficient <H100> quota: requested <1>, total would be <1>, but capability is <0>; the queue has no card quota: list the card in its annotation volcano.sh/card.quota")
			}
		})
	}
}

// TestCapacityCardLooksAtCardsCPUAndMemoryOnly: other resources and parents are of no interest to it.
func TestCapacityCardLooksAtCardsCPUAndMemoryOnly(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil)
	s.queue("parent", "root", func(spec *scheduling.QueueSpec) { spec.Capability = cpu(1) })
	s.queue("q", "parent", func(spec *scheduling.QueueSpec) {
		spec.Capability = corev1.ResourceList{"cpu": resource.MustParse("3"), "nvidia.com/gpu": resource.MustParse("1")}
	})
	s.name = CardName
	s.withCards(map[string]string{"q": `{"H100": 8}`})
	s.job("j", "q", inqueue, nil, gpuPod("fits", "", 6, "H100"))
	s.job("k", "q", inqueue, nil, newPod("large", "", cpu(3)))
	ssn := s.run(t)
	if got, want := nodesOf(ssn), "fits@n1 large@"; got != want {
		t.Errorf("pods are %s, want %s", got, want)
	}
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Pod", "large", insufficientCPUQuota, "requested <3>, total would be <4>, but capability is <3>")
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
			s := newScene(8).model(1, "H100").queue("root", "", nil).queue("parent", "root", nil).queue("child", "parent", nil).queue("sibling", "parent", nil)
			quotas := map[string]string{"parent": c.parent}
			if c.child != "" {
				quotas["child"] = c.child
			}
			s.withCards(quotas)
			s.job("i", "sibling", running, nil, gpuPod("other", "n1", 3, ""))
			s.job("j", "child", inqueue, nil, gpuPod("p", "", 2, "H100"))
			ssn := s.run(t)
			if got := nodesOf(ssn); got != c.want {
				t.Errorf("pods are %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if c.message != "" {
				expectEvent(t, ssn.KubeClient(), "Pod", "p", insufficientScalarQuota, c.message)
			}
		})
	}
}

func TestJobsWithCardsAreLetIn(t *testing.T) {
	for _, c := range []struct {
		name, request string
		pods          []*corev1.Pod
		want          string
		message       string
	}{
		{name: "what it says fits", request: `{"H100": 2, "A100": 3}`, want: "Inqueue"},
		{name: "one too many", request: `{"A100": 5}`, want: "Pending", message: "Queue <q> has insufficient <A100> quota: requested <5>, total would be <5>, but capability is <4>"},
		{name: "a split", request: `{"H100|A100": 6}`, want: "Inqueue"},
		{name: "a split that does not fit", request: `{"H100|A100": 7}`, want: "Pending", message: "Queue <q> has insufficient <H100|A100> quota: requested <7>, total would be <7>, but capability is <6>"},
		{name: "a split beside a fixed number", request: `{"H100|A100": 4, "A100": 3}`, want: "Pending", message: "Queue <q> has insufficient <H100|A100> quota: requested <4>, total would be <7>, but capability is <6>"},
		{name: "pods count, not what the job says", request: `{"A100": 5}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "A100")}, want: "Inqueue"},
		{name: "all pods that are needed", pods: []*corev1.Pod{gpuPod("p", "", 2, "H100|A100"), gpuPod("r", "", 2, "H100|A100"), gpuPod("s", "", 3, "H100|A100")}, want: "Pending",
			message: "Queue <q> has insufficient <H100|A100> quota: requested <7>, total would be <7>, but capability is <6>"},
		{name: "a request that makes no sense", request: `{"A100": 1.5}`, want: "Pending", message: "its annotation volcano.sh/card.request is wrong at character 12: 1.5 for A100 is no whole number"},
		{name: "a name in it that makes no sense", request: `{"A100|": 1}`, want: "Pending", message: `its annotation volcano.sh/card.request is wrong in "A100|": at character 5: "" is no card name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
			s.withCards(map[string]string{"q": `{"H100": 2, "A100": 4}`}).job("j", "q", scheduling.PodGroupPending, cpu(1), c.pods...)
			s.PodGroups[0].Spec.MinMember = max(1, int32(len(c.pods)))
			if c.request != "" {
				s.PodGroups[0].Annotations = map[string]string{card.RequestAnnotation: c.request}
			}
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New()})
			if got := phaseOf(ssn, "j"); got != c.want {
				t.Errorf("the job is %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if c.message == "" {
				return
			}
			reason := insufficientScalarQuota
			if strings.Contains(c.message, "wrong") {
				reason = taskRequestFailed
			}
			expectEvent(t, ssn.KubeClient(), "PodGroup", "j", reason, c.message)
		})
	}
}

// TestJobsThatWereLetInCount: what a job may still take is not given to the next one.
func TestJobsThatWereLetInCount(t *testing.T) {
	s := newScene(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2, "A100": 4}`})
	for i, group := range []struct {
		phase   scheduling.PodGroupPhase
		request string
	}{{inqueue, `{"H100|A100": 3}`}, {scheduling.PodGroupPending, `{"A100": 3}`}, {scheduling.PodGroupPending, `{"A100|H100": 1}`}} {
		s.job(fmt.Sprint("j", i), "q", group.phase, cpu(1))
		s.PodGroups[i].Spec.MinMember = 1
		s.PodGroups[i].CreationTimestamp.Time = s.PodGroups[i].CreationTimestamp.AddDate(0, 0, i)
		s.PodGroups[i].Annotations = map[string]string{card.RequestAnnotation: group.request}
	}
	ssn := s.open(t)
	s.Run([]framework.Action{enqueue.New()})
	if one, two := phaseOf(ssn, "j1"), phaseOf(ssn, "j2"); one != "Inqueue" || two != "Pending" {
		t.Errorf("j1 is %s, j2 is %s; three of six are spoken for, A100 has room for three, and then there is none", one, two)
	}
	p := pluginOf(ssn)
	q, _ := p.ledger.Queue("q")
	sum := ""
	for _, name := range []string{"H100", "A100"} {
		sum += p.ledger.Balance(q, ledger.Inqueue, p.process.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})).String() + " "
	}
	if sum != "2 4 " {
		t.Errorf("jobs that have been let in take %s, want 2 H100 and 4 A100", sum)
	}
}

// TestChargesStayWithPods: a pod keeps its charge whatever becomes of its node, and gives it back
// when it goes.
func TestChargesStayWithPods(t *testing.T) {
	s := newScene(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 8, "A100": 8}`}).job("j", "q", running, nil, gpuPod("p", "n1", 3, ""))
	first := s.open(t)
	p := pluginOf(first)
	if got := p.cardsOfQueue("q", "H100"); got != "3" {
		t.Fatalf("%s H100 are charged, want 3", got)
	}
	nodes := first.KubeClient().CoreV1().Nodes()
	relabelled := s.Nodes[0].DeepCopy()
	relabelled.Labels["nvidia.com/gpu.product"] = "B200"
	if _, err := nodes.Update(t.Context(), relabelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.CloseSession(first)
	again := s.again(t, func() bool {
		node, err := p.process.cards.lister.Get("n1")
		return err == nil && node.Labels["nvidia.com/gpu.product"] == "B200" && p.process.cards.pending("n1")
	})
	if p = pluginOf(again); !p.process.cards.fleet.Known("B200") || p.cardsOfQueue("q", "H100") != "3" || p.cardsOfQueue("q", "B200") != "0" {
		t.Errorf("after the node has another label %s H100 and %s B200 are charged, want 3 and none", p.cardsOfQueue("q", "H100"), p.cardsOfQueue("q", "B200"))
	}
	if err := nodes.Delete(t.Context(), "n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.CloseSession(again)
	// The pod is another object now, as after any change.
	s.Pods[0] = s.Pods[0].DeepCopy()
	s.Pods[0].Labels = map[string]string{"changed": "yes"}
	gone := s.again(t, func() bool {
		_, err := p.process.cards.lister.Get("n1")
		return err != nil && p.process.cards.pending("n1")
	})
	if p = pluginOf(gone); p.process.cards.fleet.Known("B200") || p.cardsOfQueue("q", "H100") != "3" {
		t.Errorf("after the node is gone %s H100 are charged, want 3", p.cardsOfQueue("q", "H100"))
	}
	framework.CloseSession(gone)
	s.Pods = nil
	empty := s.again(t, func() bool { return true })
	if p = pluginOf(empty); p.cardsOfQueue("q", "H100") != "0" || len(p.process.placed) != 0 {
		t.Errorf("after the pod is gone %s H100 are charged, %d pods remembered", p.cardsOfQueue("q", "H100"), len(p.process.placed))
	}
}

// pending reports whether a node has changed since the last session.
func (c *cards) pending(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed[node]
}

// again opens a further session with the same process once that is so; the nodes' labels stay as they
// are in the first session's cluster.
func (s *scene) again(t *testing.T, ready func() bool) *framework.Session {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 1e6, 10e9, true, func(context.Context) (bool, error) { return ready(), nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Nodes {
		s.Nodes[i] = s.Nodes[i].DeepCopy()
		s.Nodes[i].Labels = nil
	}
	return s.open(t)
}

// TestGoingPodsKeepTheirCards: what a pod has is not handed out before it is gone, but others may be
// told to wait for it.
func TestGoingPodsKeepTheirCards(t *testing.T) {
	s := newScene(8, 8).model(1, "H100").model(2, "H100").queue("root", "", nil).queue("q", "root", nil)
	going := gpuPod("going", "n1", 2, "")
	now := metav1.Now()
	going.DeletionTimestamp = &now
	s.withCards(map[string]string{"q": `{"H100": 2}`}).job("i", "q", running, nil, going).job("j", "q", inqueue, nil, gpuPod("next", "", 1, "H100"))
	ssn := s.open(t)
	p, next := pluginOf(ssn), taskOf(ssn, "next")
	if !ssn.Allocatable(ssn.Queues["q"], next) {
		t.Error("it may not even wait for the pod that is about to go")
	}
	s.Run([]framework.Action{allocate.New()})
	if got := nodesOf(ssn); got != "going@n1 next@" {
		t.Errorf("pods are %s: three cards of two are in use", got)
	}
	if got := p.held().Balance(queueID(p), ledger.Allocated, p.process.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "H100"})); got != ledger.Units(2) {
		t.Errorf("%s are held, want 2", got)
	}
}

func queueID(p *plugin) ledger.QueueID {
	q, _ := p.ledger.Queue("q")
	return q
}

// TestUndoneAllocationsAreRefunded: a pod that is taken back in the session may get another card next.
func TestUndoneAllocationsAreRefunded(t *testing.T) {
	s := newScene(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2, "A100": 2}`}).job("j", "q", inqueue, nil, gpuPod("p", "", 2, "H100|A100"))
	ssn := s.open(t)
	p, task := pluginOf(ssn), taskOf(ssn, "p")
	for _, step := range []struct {
		node, want string
		pipeline   bool
	}{{node: "n1", want: "2 0"}, {node: "n2", want: "0 2"}, {node: "n1", want: "2 0", pipeline: true}} {
		statement := framework.NewStatement(ssn)
		if err := ssn.PrePredicateFn(task); err != nil {
			t.Fatal(err)
		}
		place := func() error { return statement.Allocate(task, ssn.Nodes[step.node]) }
		if step.pipeline {
			place = func() error { return statement.Pipeline(task, step.node, false) }
		}
		if err := place(); err != nil {
			t.Fatal(err)
		}
		if got := p.cardsOfQueue("q", "H100") + " " + p.cardsOfQueue("q", "A100"); got != step.want {
			t.Errorf("on %s %s are charged, want %s", step.node, got, step.want)
		}
		statement.Discard()
		if got := p.cardsOfQueue("q", "H100") + " " + p.cardsOfQueue("q", "A100"); got != "0 0" {
			t.Errorf("after that was undone %s are charged", got)
		}
	}
}

// TestEvictedPodsKeepTheirCards: an eviction that is taken back changes nothing.
func TestEvictedPodsKeepTheirCards(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2}`}).job("j", "q", running, nil, gpuPod("p", "n1", 2, ""))
	ssn := s.open(t)
	p := pluginOf(ssn)
	statement := framework.NewStatement(ssn)
	if err := statement.Evict(taskOf(ssn, "p"), "test"); err != nil {
		t.Fatal(err)
	}
	if p.cardsOfQueue("q", "H100") != "0" || len(p.leaving) != 1 {
		t.Errorf("an evicted pod is charged %s, %d are about to leave", p.cardsOfQueue("q", "H100"), len(p.leaving))
	}
	statement.Discard()
	if p.cardsOfQueue("q", "H100") != "2" || len(p.leaving) != 0 {
		t.Errorf("a pod that stays is charged %s, %d are about to leave", p.cardsOfQueue("q", "H100"), len(p.leaving))
	}
}

func TestNodeOrderPrefersWhatIsNamedFirst(t *testing.T) {
	s := newScene(8, 8, 8, 8).model(1, "A").model(2, "B").model(3, "C").queue("root", "", nil).queue("q", "root", nil).withCards(nil)
	s.arguments = framework.Arguments{nodeOrderWeight: 3}
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

// TestQuotasThatCannotBeRead: the last good one holds; who never had one may use no card.
func TestQuotasThatCannotBeRead(t *testing.T) {
	p := &plugin{process: newProcess(), problems: map[string]problem{}}
	queue := func(quota string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: types.UID("1"), Annotations: map[string]string{schedulingv1beta1.CardQuotaAnnotation: quota}}}
	}
	for _, step := range []struct {
		name, quota, want, problem string
		none                       bool
	}{
		{name: "never a good one", quota: "8 H100", problem: "is wrong at character 1: it is no object; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}; until then, none of its pods may use a card"},
		{name: "a good one", quota: `{"H100": 8}`, want: "H100:8"},
		{name: "a bad one", quota: `{"H100": -8}`, want: "H100:8", problem: "-8 for H100 is no whole number from 0 to 9223372036854775807"},
		{name: "still a bad one", quota: `{"H100": 8`, want: "H100:8", problem: "until then, its last quota holds"},
		{name: "taken away", none: true},
		{name: "and then a bad one", quota: `[]`, problem: "none of its pods may use a card"},
	} {
		clear(p.problems)
		object := queue(step.quota)
		if step.none {
			object.Annotations = nil
		}
		cards, lists := p.cardQuota(object)
		var got []string
		for _, e := range cards {
			got = append(got, p.process.dimensions.Dimension(e.Dimension).Name+":"+e.Amount.String())
		}
		if strings.Join(got, " ") != step.want || lists == step.none {
			t.Errorf("%s: %v, a list: %t", step.name, got, lists)
		}
		if message := p.problems["q"].message; !strings.Contains(message, step.problem) || step.problem == "" && message != "" {
			t.Errorf("%s: problem %q, want %q", step.name, message, step.problem)
		}
	}
}

func TestNodesThatCannotBeReadAreReportedOnce(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil)
	s.Nodes[0].Labels["nvidia.com/gpu.memory"] = "80GB"
	ssn := s.open(t)
	expectEvent(t, ssn.KubeClient(), "Node", "n1", cardsNotRead, `its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB`)
	events := record.NewFakeRecorder(10)
	known := pluginOf(ssn).process.cards
	known.noteAll()
	known.refresh(nil, events)
	if len(events.Events) != 0 {
		t.Errorf("the same again: %s", <-events.Events)
	}
}

// TestStartWaitsForPodsThatHoldCards: what is not known yet is not given away again.
func TestStartWaitsForPodsThatHoldCards(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).queue("free", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2}`})
	s.queue("unread", "root", nil) // the informer does not have it yet
	stranger := gpuPod("stranger", "n1", 1, "")
	stranger.Annotations[scheduling.KubeGroupNameAnnotationKey] = "not-read-yet"
	s.job("j", "q", inqueue, nil, gpuPod("next", "", 1, "H100")).job("k", "free", inqueue, nil, gpuPod("unlimited", "", 1, "H100"))
	s.job("l", "unread", inqueue, nil, gpuPod("unread", "", 1, "H100"))
	ssn := s.open(t)
	p := pluginOf(ssn)
	expect := func(what string, next bool) {
		t.Helper()
		for queue, pod := range map[string]string{"q": "next", "free": "unlimited", "unread": "unread"} {
			if got, want := ssn.Allocatable(ssn.Queues[api.QueueID(queue)], taskOf(ssn, pod)), queue == "free" || queue == "q" && next; got != want {
				t.Errorf("%s: pod %s may run: %t, want %t", what, pod, got, want)
			}
		}
	}
	expect("all pods are known", true)
	if err := ssn.InformerFactory().Core().V1().Pods().Informer().GetStore().Add(stranger); err != nil {
		t.Fatal(err)
	}
	p.process.caughtUp = false
	p.behind = p.whyBehind()
	expect("one is not known", false)
	p.process.startTime = p.process.startTime.Add(-catchUpLimit)
	p.behind = p.whyBehind()
	expect("one will never be known", true)
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments framework.Arguments
		want      card.ResourceNames
	}{
		{name: "none"},
		{name: "a list", arguments: framework.Arguments{cardResourceNames: []any{"nvidia.com/gpu", "nvidia.com/mig-*"}}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "a string", arguments: framework.Arguments{cardResourceNames: "nvidia.com/gpu, nvidia.com/mig-*"}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "no strings", arguments: framework.Arguments{cardResourceNames: []any{1}}},
		{name: "no list", arguments: framework.Arguments{cardResourceNames: 1}},
		{name: "no pattern", arguments: framework.Arguments{cardResourceNames: "nvidia.com/["}},
	} {
		if got := readSettings(Name, c.arguments).cardResources; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if s := readSettings(CardName, nil); !s.cardQuotaRequired || !s.cardsOnly || s.nodeOrderWeight != 1 || s.unlimitedCards {
		t.Errorf("defaults of %s are %+v", CardName, s)
	}
	if s := readSettings(Name, framework.Arguments{nodeOrderWeight: 0.5}); s.cardQuotaRequired || s.cardsOnly || s.nodeOrderWeight != 0.5 {
		t.Errorf("settings of %s are %+v", Name, s)
	}
}
