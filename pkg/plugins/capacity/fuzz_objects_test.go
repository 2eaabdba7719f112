// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
)

// oddLimits and oddRequests are quantities that rarely make sense. Volcano panics if the requests of a job's pods are so
// large that floating-point numbers lose precision.
var (
	oddLimits   = []string{"0", "1m", "9223372036854775807", "1e20"}
	oddRequests = []string{"0", "1m", "9000000000000"}
)

// limits returns a capability or deserved of a queue. Mostly, it fits several pods.
func (c *fuzzCluster) limits() corev1.ResourceList {
	list := c.quantities(oddLimits)
	for _, name := range slices.Sorted(maps.Keys(list)) { // the same bytes make the same choices
		quantity := list[name]
		if quantity.CmpInt64(1<<40) < 0 && (c.options.Calm || c.oneIn(2)) {
			quantity.Mul(4)
			list[name] = quantity
		}
	}
	return list
}

// quantities returns some amounts of cpu, memory and GPUs.
func (c *fuzzCluster) quantities(odd []string) corev1.ResourceList {
	list := corev1.ResourceList{}
	add := func(name corev1.ResourceName, among ...string) {
		if odd != nil && c.odd(20) {
			among = odd
		}
		if text := choose(c.fuzzInput, among...); text != "" {
			list[name] = resource.MustParse(text)
		}
	}
	add(corev1.ResourceCPU, "1", "2", "1", "2", "4", "")
	add(corev1.ResourceMemory, "", "1Gi", "2Gi", "4Gi")
	add("nvidia.com/gpu", "", "", "", "1", "2", "4")
	return list
}

func (c *fuzzCluster) deviceQuotas(odd bool) schedulingv1beta1.DeviceQuotas {
	quotas := schedulingv1beta1.DeviceQuotas{}
	for range c.under(3) {
		quota := schedulingv1beta1.DeviceQuota{Count: int64(c.under(6))}
		if c.oneIn(3) {
			quota.Capacity = schedulingv1beta1.DeviceCapacities{"memory": resource.MustParse(choose(c.fuzzInput, "0", "10Gi", "80Gi", "160Gi"))}
		}
		if odd && c.odd(10) {
			quota.Count = -1
		}
		quotas[choose(c.fuzzInput, "h100", "a100", "part", "mig", "carded", "any", "gone")] = quota
	}
	return quotas
}

// changeQueue gives a new or existing queue a spec.
func (c *fuzzCluster) changeQueue(name string) {
	queue, exists := c.queues.get(name)
	if exists {
		queue = queue.DeepCopy()
	} else {
		queue = &schedulingv1beta1.Queue{ObjectMeta: c.meta(name, "")}
	}
	queue.Status.State = upstreamv1beta1.QueueStateOpen
	if c.odd(15) {
		queue.Status.State = upstreamv1beta1.QueueStateClosed
	}
	spec := schedulingv1beta1.QueueSpec{}
	spec.Weight = 1
	if name != "root" {
		spec.Parent = choose(c.fuzzInput, "root", "", "root", "root", "a")
		if c.odd(10) {
			spec.Parent = choose(c.fuzzInput, name, "gone", "d", "e")
		}
	}
	if c.oneIn(2) && (name != "root" || c.odd(2)) {
		spec.Capability = c.limits()
	}
	if c.oneIn(2) {
		spec.Deserved = c.limits()
	}
	if c.oneIn(5) {
		spec.Guarantee.Resource = c.quantities(nil)
	}
	if c.oneIn(2) && (name != "root" || c.odd(2)) {
		spec.DRA = &schedulingv1beta1.DRAQuota{Capability: c.deviceQuotas(true), Deserved: c.deviceQuotas(false)}
		if c.oneIn(4) {
			spec.DRA.Guarantee = c.deviceQuotas(false)
		}
	}
	delete(queue.Annotations, card.NameAnnotation)
	delete(queue.Annotations, schedulingv1beta1.CardQuotaAnnotation)
	if c.oneIn(4) {
		queue.Annotations[schedulingv1beta1.CardQuotaAnnotation] = choose(c.fuzzInput, `{"H100": 4, "A100": 2}`, `{"A100": 3}`, `{"H100": 2, "A100": 9}`, `{"H100": 8}`)
		if c.odd(3) {
			queue.Annotations[schedulingv1beta1.CardQuotaAnnotation] = choose(c.fuzzInput, `{"H100": 1}`, `{}`, `{"H100": -1}`, `not json`)
		}
	}
	if spec.DRA == nil && queue.Spec.DRA != nil && !c.odd(6) {
		spec.DRA = &schedulingv1beta1.DRAQuota{} // without spec.dra, the last one may apply
	}
	queue.Spec = spec
	queue.Generation++
	c.putQueue(queue)
	c.note("Queue %s: parent %q capability %v deserved %v guarantee %v dra %+v cards %q state %s", name, spec.Parent, text(spec.Capability), text(spec.Deserved),
		text(spec.Guarantee.Resource), spec.DRA, queue.Annotations[schedulingv1beta1.CardQuotaAnnotation], queue.Status.State)
}

func text(list corev1.ResourceList) string {
	var all string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		all += fmt.Sprintf("%s=%s ", name, quantity.String())
	}
	return all
}

// changeNode gives a new or existing node its capacity and labels.
func (c *fuzzCluster) changeNode(name string) {
	node, exists := c.nodes.get(name)
	if exists {
		node = node.DeepCopy()
	} else {
		node = &corev1.Node{ObjectMeta: c.meta(name, "")}
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(choose(c.fuzzInput, "8", "16", "16", "4", "8")), corev1.ResourceMemory: resource.MustParse(choose(c.fuzzInput, "16Gi", "8Gi")),
		corev1.ResourcePods: resource.MustParse(choose(c.fuzzInput, "50", "50", "3")),
	}
	node.Labels = map[string]string{}
	if n := choose(c.fuzzInput, "8", "4", ""); n != "" {
		node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(n)
		if model := choose(c.fuzzInput, "H100", "A100", "H100", "A100", "H100", "", "B200"); model != "" {
			node.Labels["nvidia.com/gpu.product"] = model
		}
	}
	node.Status.Capacity = node.Status.Allocatable
	ready := corev1.ConditionTrue
	if c.odd(10) {
		ready = corev1.ConditionFalse
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	c.putNode(node)
	c.note("Node %s: %s labels %v ready %s", name, text(node.Status.Allocatable), node.Labels, ready)
}

// changeGroup gives a new or existing PodGroup a spec.
func (c *fuzzCluster) changeGroup(name string) {
	group, exists := c.groups.get(name)
	if exists {
		group = group.DeepCopy()
	} else {
		group = &upstreamv1beta1.PodGroup{ObjectMeta: c.meta(name, "ns")}
		group.Status.Phase = choose(c.fuzzInput, upstreamv1beta1.PodGroupInqueue, upstreamv1beta1.PodGroupPending, upstreamv1beta1.PodGroupRunning, upstreamv1beta1.PodGroupInqueue)
	}
	if !exists || c.oneIn(4) {
		group.Spec.Queue = c.leaf()
	}
	group.Spec.MinMember = choose[int32](c.fuzzInput, 1, 1, 1, 1, 2, 3)
	if c.odd(10) {
		group.Spec.MinMember = choose[int32](c.fuzzInput, 0, -1, 1000)
	}
	group.Spec.PriorityClassName = choose(c.fuzzInput, "", "high")
	group.Spec.MinResources = nil
	if c.oneIn(3) {
		group.Spec.MinResources = ptr.To(c.quantities(oddRequests))
	}
	delete(group.Annotations, card.RequestAnnotation)
	if c.oneIn(5) {
		group.Annotations[card.RequestAnnotation] = choose(c.fuzzInput, `{"H100": 2}`, `{"A100|H100": 3}`, `{"B200": 1}`, `{"H100": -2}`, `{`)
	}
	c.putGroup(group)
	c.note("PodGroup %s: queue %s minimum %d %v phase %s priority %q cards %q", name, group.Spec.Queue, group.Spec.MinMember, group.Spec.MinResources, group.Status.Phase,
		group.Spec.PriorityClassName, group.Annotations[card.RequestAnnotation])
}

func (c *fuzzCluster) leaf() string {
	if len(c.queues) == 0 || c.odd(10) {
		return choose(c.fuzzInput, "gone", "", "root")
	}
	leaves := slices.DeleteFunc(slices.Clone(c.queues), func(q *schedulingv1beta1.Queue) bool {
		return q.Name == "root" || slices.ContainsFunc(c.queues, func(child *schedulingv1beta1.Queue) bool { return child.Spec.Parent == q.Name })
	})
	if len(leaves) == 0 || c.odd(8) {
		return c.queues[c.under(len(c.queues))].Name
	}
	return leaves[c.under(len(leaves))].Name
}

// addPod adds a pod that waits or, rarely, already has a node.
func (c *fuzzCluster) addPod() {
	pod := &corev1.Pod{ObjectMeta: c.meta(c.named("p"), "ns")}
	pod.Labels[upstreamv1beta1.PodPreemptable] = choose(c.fuzzInput, "true", "true", "false")
	pod.Spec.SchedulerName = "volcano"
	if c.odd(4) {
		pod.Spec.SchedulerName = "default-scheduler"
	}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: c.quantities(oddRequests)}}}
	pod.Spec.Priority = ptr.To(choose[int32](c.fuzzInput, 0, 10))
	pod.Status.Phase = corev1.PodPending
	if c.oneIn(4) {
		pod.Annotations[card.NameAnnotation] = choose(c.fuzzInput, "H100", "A100", "H100|A100", "A100|H100|B200", "H100|A100", "A100|H100")
		if c.odd(4) {
			pod.Annotations[card.NameAnnotation] = choose(c.fuzzInput, "B200", "|")
		}
	}
	if c.oneIn(20) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
	switch {
	case len(c.groups) > 0 && !c.odd(8):
		pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = c.groups[c.under(len(c.groups))].Name
	case c.oneIn(2):
		pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = choose(c.fuzzInput, "later", "gone", "g1", "g2")
	}
	if c.oneIn(8) && len(c.nodes) > 0 {
		pod.Spec.NodeName = choose(c.fuzzInput, c.nodes[c.under(len(c.nodes))].Name, "gone")
		pod.Status.Phase = choose(c.fuzzInput, corev1.PodRunning, corev1.PodPending, corev1.PodUnknown, corev1.PodPhase(""))
		pod.Spec.SchedulingGates = nil
		pod.Spec.Containers[0].Resources.Requests = c.quantities(nil) // running pods have some size
	}
	if c.oneIn(3) {
		c.addClaimsTo(pod)
	}
	c.putPod(pod)
	if c.oneIn(2) {
		c.createClaims(pod)
	}
	c.note("Pod %s of %q: %s cards %q node %q claims %s gated %v by %s", pod.Name, pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey], text(pod.Spec.Containers[0].Resources.Requests),
		pod.Annotations[card.NameAnnotation], pod.Spec.NodeName, claimNames(pod), len(pod.Spec.SchedulingGates) > 0, pod.Spec.SchedulerName)
}

func (c *fuzzCluster) putNode(node *corev1.Node) {
	_, exists := c.nodes.get(node.Name)
	node.ResourceVersion = c.nextVersion()
	c.nodes.put(node)
	c.informers.nodes.put(node)
	c.try(c.scheduler.AddOrUpdateNode(c.shownNode(node)))
	if exists {
		return
	}
	for _, object := range c.informers.pods.GetStore().List() {
		if pod := object.(*corev1.Pod); pod.Spec.NodeName == node.Name && seesPod(pod) { // as the scheduler does
			c.scheduler.DeletePod(pod)
			c.scheduler.AddPod(pod)
		}
	}
}

func (c *fuzzCluster) deleteNode(node *corev1.Node) {
	c.nodes.remove(node.Name)
	c.informers.nodes.remove(node)
	_ = c.scheduler.RemoveNode(node.Name) // it may be known only from a pod
}
