// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// newCalmCluster is a cluster that lives through sessions, as that of FuzzSessions, in which nothing happens by chance. It has
// the queue root, and a template for each class, which asks for one device.
func newCalmCluster(t *testing.T, classes ...string) *fuzzCluster {
	c := newFuzzCluster(t, newFuzzInput(make([]byte, 1<<20)))
	t.Cleanup(func() {
		c.shutdown()
		framework.CleanupPluginBuilders()
		logged.take()
	})
	logged.take()
	c.queue("root", "", schedulingv1beta1.DRAQuota{}, nil)
	for _, class := range classes {
		c.addClass(class)
		c.putTemplate(&resourcev1.ResourceClaimTemplate{ObjectMeta: c.meta(class, "ns"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: oneOf(class)}})
	}
	return c
}

func oneOf(class string) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}}}
}

// queue adds or changes an open queue that others may take back from.
func (c *fuzzCluster) queue(name, parent string, dra schedulingv1beta1.DRAQuota, change func(*schedulingv1beta1.QueueSpec)) {
	q := &schedulingv1beta1.Queue{ObjectMeta: c.meta(name, "")}
	q.Spec.Weight, q.Spec.Parent, q.Spec.Reclaimable, q.Spec.DRA = 1, parent, ptr.To(true), &dra
	q.Status.State = upstreamv1beta1.QueueStateOpen
	if change != nil {
		change(&q.Spec)
	}
	c.putQueue(q)
}

// node adds a ready node with cores, and devices of these models.
func (c *fuzzCluster) node(name string, cores int, models ...string) {
	node := &corev1.Node{ObjectMeta: c.meta(name, "")}
	node.Status.Allocatable = newFixture(cores).Nodes[0].Status.Allocatable
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	c.putNode(node)
	spec := resourcev1.ResourceSliceSpec{Driver: fuzzDriver, NodeName: ptr.To(name), Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}
	for i, model := range models {
		spec.Devices = append(spec.Devices, resourcev1.Device{
			Name: fmt.Sprint(model, "-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
		})
	}
	c.putSlice(&resourcev1.ResourceSlice{ObjectMeta: c.meta(name, ""), Spec: spec})
}

// group adds a job that needs so many pods.
func (c *fuzzCluster) group(name, queue string, minimum int32, change func(*upstreamv1beta1.PodGroup)) {
	group := &upstreamv1beta1.PodGroup{ObjectMeta: c.meta(name, "ns")}
	group.Spec.Queue, group.Spec.MinMember, group.Status.Phase = queue, minimum, upstreamv1beta1.PodGroupInqueue
	if change != nil {
		change(group)
	}
	c.putGroup(group)
}

// pod adds a pod to a job: it asks for a core, and a device of each class.
func (c *fuzzCluster) pod(name, group string, change func(*corev1.Pod), classes ...string) {
	pod := newPod(name, "", cpu(1))
	pod.ObjectMeta = c.meta(name, "ns")
	pod.Labels[upstreamv1beta1.PodPreemptable] = "true"
	pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = group
	pod.Spec.SchedulerName = "volcano"
	for _, class := range classes {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: class, ResourceClaimTemplateName: ptr.To(class)})
	}
	if change != nil {
		change(pod)
	}
	c.putPod(pod)
	c.createClaims(pod)
}

// single adds a job with one pod.
func (c *fuzzCluster) single(name, queue string, classes ...string) {
	c.group(name, queue, 1, nil)
	c.pod(name, name, nil, classes...)
}

// leave lets the pods end that are terminating, and controllers do their work.
func (c *fuzzCluster) leave() {
	for _, pod := range slices.Clone(c.pods) {
		if pod.DeletionTimestamp != nil {
			c.deletePod(pod)
		}
	}
	c.control()
}

// turn is a session, after which controllers do their work.
func (c *fuzzCluster) turn() {
	c.session()
	c.control()
}

// places returns where pods are, sorted by their names. Those that are terminating have an x.
func (c *fuzzCluster) places() string {
	var all []string
	for _, pod := range c.pods {
		place := pod.Name + "@" + pod.Spec.NodeName
		if pod.DeletionTimestamp != nil {
			place += "x"
		}
		all = append(all, place)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (c *fuzzCluster) expectPlaces(want string) {
	c.Helper()
	if got := c.places(); got != want {
		c.fail("pods are %s, want %s", got, want)
	}
}

func deserve(class string, n int64) schedulingv1beta1.DRAQuota {
	return schedulingv1beta1.DRAQuota{Deserved: schedulingv1beta1.DeviceQuotas{class: {Count: n}}}
}

// TestEachEvictionHasItsOwnTimeLimit: a further pod of a job for which a pod was evicted long ago gets what is freed for it.
func TestEachEvictionHasItsOwnTimeLimit(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 2), nil)
	c.queue("lender", "root", deserve("h100", 0), func(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 })
	c.node("n1", 8, "h100", "h100")
	c.single("v1", "lender", "h100")
	c.single("v2", "lender", "h100")
	c.turn()
	c.expectPlaces("v1@n1 v2@n1")

	c.group("j", "q", 1, nil)
	c.pod("p1", "j", nil, "h100")
	c.pod("p2", "j", func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}, "h100")
	c.turn()
	c.expectPlaces("p1@ p2@ v1@n1x v2@n1")
	c.leave()
	c.turn()
	c.expectPlaces("p1@n1 p2@ v2@n1")

	c.clock.SetTime(c.clock.Now().Add(defaultReservationTimeout + time.Minute))
	c.turn()
	pod, _ := c.pods.get("p2")
	pod = pod.DeepCopy()
	pod.Spec.SchedulingGates = nil
	c.putPod(pod)
	c.turn()
	c.expectPlaces("p1@n1 p2@ v2@n1x")
	c.single("v2again", "lender", "h100")
	c.turn()
	c.leave()
	c.turn()
	c.expectPlaces("p1@n1 p2@n1 v2again@")
}

// TestQueuesDoNotTakeTurnsToEvict: what one queue takes back by its right to one thing, another must not take back by its right to another.
func TestQueuesDoNotTakeTurnsToEvict(t *testing.T) {
	c := newCalmCluster(t, "h100", "a100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("a100", 1), nil)
	c.node("n1", 8, "h100", "a100")
	c.single("v", "lender", "h100", "a100")
	c.turn()
	c.single("p", "q", "h100", "a100")
	evictions := 0
	for i := range 10 {
		c.session()
		for _, pod := range slices.Clone(c.pods) {
			if pod.DeletionTimestamp != nil {
				evictions++
				group := pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey]
				c.leave()
				c.pod(fmt.Sprint(pod.Name, i), group, nil, "h100", "a100")
			}
		}
		c.control()
	}
	if evictions > 1 {
		t.Errorf("%d pods were evicted: %s\n%s", evictions, c.places(), strings.Join(c.history, "\n"))
	}
}

// edit changes a pod as a person does.
func (c *fuzzCluster) edit(name string, change func(*corev1.Pod)) {
	pod, _ := c.pods.get(name)
	pod = pod.DeepCopy()
	change(pod)
	c.putPod(pod)
}

func (c *fuzzCluster) editGroup(name string, change func(*upstreamv1beta1.PodGroup)) {
	group, _ := c.groups.get(name)
	group = group.DeepCopy()
	change(group)
	c.putGroup(group)
}

// TestAJobAsksAgainWhenSomethingChanges: nobody can be evicted at first.
func TestAJobAsksAgainWhenSomethingChanges(t *testing.T) {
	for _, test := range []struct {
		name          string
		arrange, mend func(*fuzzCluster)
	}{
		{"the victim may be preempted", func(c *fuzzCluster) {
			c.edit("v", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "false" })
		}, func(c *fuzzCluster) {
			c.edit("v", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "true" })
		}},
		{"the gang of the victim needs fewer pods", func(c *fuzzCluster) {
			c.pod("v-1", "v", nil)
			c.editGroup("v", func(group *upstreamv1beta1.PodGroup) { group.Spec.MinMember = 2 })
			c.turn()
		}, func(c *fuzzCluster) {
			c.editGroup("v", func(group *upstreamv1beta1.PodGroup) { group.Spec.MinMember = 1 })
		}},
		{"the claim of the pod is created", func(c *fuzzCluster) {
			c.edit("p", func(pod *corev1.Pod) {
				pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "h100", ResourceClaimName: ptr.To("named")}}
			})
		}, func(c *fuzzCluster) {
			c.put("resourceclaims", &resourcev1.ResourceClaim{ObjectMeta: c.meta("named", "ns"), Spec: oneOf("h100")})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			c.queue("q", "root", deserve("h100", 1), nil)
			c.queue("lender", "root", deserve("h100", 0), nil)
			c.node("n1", 8, "h100")
			c.single("v", "lender", "h100")
			c.turn()
			c.single("p", "q", "h100")
			test.arrange(c)
			c.turn()
			if pod, _ := c.pods.get("v"); pod.DeletionTimestamp != nil {
				c.fail("the pod was evicted at once")
			}
			test.mend(c)
			c.turn()
			if pod, _ := c.pods.get("v"); pod.DeletionTimestamp == nil {
				c.fail("the pod was not evicted")
			}
		})
	}
}

// TestAForgedNominationTakesNothing: somebody has written the nominated node of an older pod.
func TestAForgedNominationTakesNothing(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	c.node("n1", 8, "h100")
	c.single("v", "lender", "h100")
	c.turn()
	c.single("x", "lender", "h100")
	c.edit("x", func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "n1" })
	c.clock.SetTime(c.clock.Now().Add(time.Second))
	c.single("p", "q", "h100")
	c.turn()
	c.expectPlaces("p@ v@n1x x@")
	c.turn()
	c.leave()
	c.turn()
	c.expectPlaces("p@n1 x@")
}

// TestWhatWasFreedSurvivesRestarts: the scheduler restarts before and after the victim is gone.
func TestWhatWasFreedSurvivesRestarts(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("h100", 0), func(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 })
	c.node("n1", 8, "h100")
	c.single("v", "lender", "h100")
	c.turn()
	c.single("p", "q", "h100")
	c.turn()
	c.expectPlaces("p@ v@n1x")
	c.single("again", "lender", "h100")
	c.restart()
	c.turn()
	c.restart()
	c.expectPlaces("again@ p@ v@n1x")
	c.leave()
	c.restart()
	c.turn()
	c.expectPlaces("again@ p@n1")
}

// TestWhatIsLeavingGoesToThoseWhoComeFirst: a pod for which nobody was evicted does not keep others from what is leaving.
func TestWhatIsLeavingGoesToThoseWhoComeFirst(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, nil)
	c.node("n1", 8, "h100", "h100")
	c.single("a", "q", "h100")
	c.single("r", "q", "h100")
	c.turn()
	c.single("low", "q", "h100")
	pod, _ := c.pods.get("a")
	c.terminate(pod)
	c.turn()
	c.expectPlaces("a@n1x low@ r@n1")
	c.group("high", "q", 1, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	c.pod("high", "high", nil, "h100")
	c.turn()
	c.expectPlaces("a@n1x high@ low@ r@n1")
	c.leave()
	c.turn()
	c.expectPlaces("high@n1 low@ r@n1")
}

// TestTheNodeOfANominatedPodGoes: the pod asks for room elsewhere.
func TestTheNodeOfANominatedPodGoes(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	c.node("n1", 8, "h100")
	c.single("v1", "lender", "h100")
	c.turn()
	c.single("p", "q", "h100")
	c.turn()
	c.expectPlaces("p@ v1@n1x")
	node, _ := c.nodes.get("n1")
	c.deleteNode(node)
	c.node("n2", 8, "h100")
	c.single("v2", "lender", "h100")
	c.edit("v2", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n2", corev1.PodRunning })
	claim := c.claim("v2-h100")
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: fuzzDriver, Pool: "n2", Device: "h100-0"}}}}
	v2, _ := c.pods.get("v2")
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "v2", UID: v2.UID}}
	c.writeClaim(claim)
	c.turn()
	c.expectPlaces("p@ v1@n1x v2@n2x")
	c.leave()
	c.turn()
	c.expectPlaces("p@n2")
}

// TestAGangThatGetsNothingIsNotNominated: two pods could have a node, and the third could not. Autoscalers leave out pods that are
// nominated.
func TestAGangThatGetsNothingIsNotNominated(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 3), nil)
	c.queue("lender", "root", deserve("h100", 1), nil)
	c.node("n1", 8, "h100", "h100", "h100")
	for i := range 3 {
		c.single(fmt.Sprint("v", i), "lender", "h100")
	}
	c.turn()
	c.group("g", "q", 3, nil)
	for i := range 3 {
		c.pod(fmt.Sprint("g", i), "g", nil, "h100")
	}
	c.turn()
	c.expectPlaces("g0@ g1@ g2@ v0@n1 v1@n1 v2@n1")
	for _, pod := range c.pods {
		if pod.Status.NominatedNodeName != "" {
			c.fail("pod %s is nominated to %s", pod.Name, pod.Status.NominatedNodeName)
		}
	}
}

// TestAWaitThatEndedDoesNotCount: a pod waits for what is leaving a node, twice, and long after each other.
func TestAWaitThatEndedDoesNotCount(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("h100", 0), func(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 })
	c.node("n1", 8, "h100")
	c.single("v1", "lender", "h100")
	c.turn()
	pod, _ := c.pods.get("v1")
	c.terminate(pod)
	c.single("p", "q", "h100")
	c.turn()
	c.single("v2", "lender", "h100")
	c.edit("v2", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "false" })
	c.leave()
	c.turn()
	c.expectPlaces("p@ v2@n1")
	c.turn()
	c.clock.SetTime(c.clock.Now().Add(defaultReservationTimeout + time.Minute))
	pod, _ = c.pods.get("v2")
	c.terminate(pod)
	c.turn()
	c.single("v3", "lender", "h100")
	c.leave()
	c.turn()
	c.expectPlaces("p@ v3@n1")
	c.turn()
	c.expectPlaces("p@ v3@n1x")
}

// TestCardsAreKeptWhileDevicesAreRead: after a start, devices are read while cards are known.
func TestCardsAreKeptWhileDevicesAreRead(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 1}`})
	nominated, other := gpuPod("nominated", "", 1, ""), gpuPod("a", "", 1, "")
	nominated.Status.NominatedNodeName = "n1"
	s.job("a", "q", inqueue, nil, other).job("nominated", "q", inqueue, nil, nominated)
	ssn := s.open(t)
	pluginOf(ssn).devicesNotReady = &report.NotReady{Subject: report.Devices, Why: "claims are still being read"}
	s.Run((&Plugins{cache: s.cache}).Actions())
	expectStatuses(t, ssn, "a:Pending nominated:Binding")
}

// TestAGangThatCannotBeEvictedLetsNobodyIn: a job of higher priority would wait for the gang, and keep others from what is free.
func TestAGangThatCannotBeEvictedLetsNobodyIn(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: 4}}}, nil)
	c.node("n1", 16, "h100", "h100", "h100", "h100")
	c.group("gang", "q", 3, nil)
	for i := range 3 {
		c.pod(fmt.Sprint("gang-", i), "gang", nil, "h100")
	}
	c.turn()
	pend := func(group *upstreamv1beta1.PodGroup) {
		group.Status.Phase, group.Spec.MinResources = upstreamv1beta1.PodGroupPending, ptr.To(cpu(1))
	}
	c.group("high", "q", 4, func(group *upstreamv1beta1.PodGroup) {
		pend(group)
		group.Spec.PriorityClassName = "high"
	})
	for i := range 4 {
		c.pod(fmt.Sprint("high-", i), "high", nil, "h100")
	}
	c.turn()
	c.group("small", "q", 1, pend)
	c.pod("small", "small", nil, "h100")
	c.turn()
	c.turn()
	c.expectPlaces("gang-0@n1 gang-1@n1 gang-2@n1 high-0@ high-1@ high-2@ high-3@ small@n1")
}

// TestAVictimWhoseCPUIsNeededIsNotSpared: the two pods of a gang need the places of two pods on different nodes.
func TestAVictimWhoseCPUIsNeededIsNotSpared(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, nil)
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"on": node} }
	}
	c.node("n1", 1)
	c.node("n2", 1, "h100")
	for _, node := range slices.Clone(c.nodes) {
		node = node.DeepCopy()
		node.Labels["on"] = node.Name
		c.putNode(node)
	}
	c.group("x", "q", 1, nil)
	c.pod("x", "x", on("n1"))
	c.single("v", "q", "h100")
	c.turn()
	c.expectPlaces("v@n2 x@n1")
	c.group("g", "q", 2, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	c.pod("g-cpu", "g", func(pod *corev1.Pod) {
		on("n1")(pod)
		pod.Spec.Priority = ptr.To[int32](10)
	})
	c.pod("g-device", "g", nil, "h100")
	c.turn()
	c.expectPlaces("g-cpu@ g-device@ v@n2x x@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("g-cpu@n1 g-device@n2")
}

// TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob: the victim of the other pod is gone first.
func TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 2), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"on": node} }
	}
	for _, name := range []string{"n1", "n2"} {
		c.node(name, 8, "h100")
		node, _ := c.nodes.get(name)
		node = node.DeepCopy()
		node.Labels["on"] = name
		c.putNode(node)
		c.group("v-"+name, "lender", 1, nil)
		c.pod("v-"+name, "v-"+name, on(name), "h100")
	}
	c.turn()
	c.group("p", "q", 1, nil)
	c.pod("p1", "p", nil, "h100")
	c.pod("p2", "p", on("n2"), "h100")
	c.edit("p1", func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To[int32](10) })
	c.turn()
	c.expectPlaces("p1@ p2@ v-n1@n1x v-n2@n2x")
	gone, _ := c.pods.get("v-n2")
	c.deletePod(gone)
	c.control()
	c.turn()
	c.expectPlaces("p1@ p2@n2 v-n1@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("p1@n1 p2@n2")
}
