// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/card"
)

var (
	fuzzQueueNames = []string{"a", "b", "c", "d", "e"}
	fuzzNodeNames  = []string{"n1", "n2", "n3"}
)

// populate fills a cluster in which something can run.
func (c *fuzzCluster) populate() {
	for _, class := range []string{"h100", "a100", "carded", "part", "mig", "any"} {
		c.addClass(class)
	}
	for _, node := range fuzzNodeNames[:1+c.under(3)] {
		c.changeNode(node)
		c.changeSlice(node)
	}
	c.changeQueue("root")
	for _, queue := range fuzzQueueNames[:1+c.under(len(fuzzQueueNames))] {
		c.changeQueue(queue)
	}
	for _, name := range []string{"t0", "t1", "t2", "t3"} {
		c.addTemplate(name)
	}
	for _, name := range []string{"shared0", "shared1"} {
		c.addSharedClaim(name)
	}
	for _, name := range []string{"g1", "g2", "g3"} {
		c.changeGroup(name)
	}
	for range 5 + c.under(8) {
		c.addPod()
	}
}

func (c *fuzzCluster) addTemplate(name string) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: c.meta(name, "ns"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: c.claimSpec()}}
	c.put("resourceclaimtemplates", template)
	c.note("ResourceClaimTemplate %s: %s", name, requestsOf(&template.Spec.Spec))
}

func (c *fuzzCluster) addSharedClaim(name string) {
	if c.claim(name) != nil {
		return
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: c.meta(name, "ns"), Spec: c.claimSpec()}
	c.put("resourceclaims", claim)
	c.note("ResourceClaim %s: %s", name, requestsOf(&claim.Spec))
}

// change makes one change to the cluster between sessions.
func (c *fuzzCluster) change() {
	in := c.fuzzInput
	if c.extended && c.oneIn(4) {
		c.changeServing()
		return
	}
	switch n := c.under(44); {
	case n < 10:
		c.addPod()
	case n < 15:
		c.changePod()
	case n < 19:
		c.changeQueue(choose(in, append(fuzzQueueNames, "root")...))
	case n < 21:
		c.changeNode(choose(in, fuzzNodeNames...))
	case n < 23:
		c.changeSlice(choose(in, fuzzNodeNames...))
	case n < 26:
		c.changeGroup(choose(in, "g1", "g2", "g3", "g4", "later"))
	case n < 29:
		c.changeClaim()
	case n < 31:
		c.addSharedClaim(choose(in, "shared0", "shared1", "shared2"))
	case n == 31:
		c.addTemplate(choose(in, "t0", "t1", "t2", "t3"))
	case n == 32:
		c.remove("resourceclaimtemplates", "ns", choose(in, "t0", "t1", "t2", "t3"))
	case n == 33:
		c.changeClass()
	case n == 34:
		c.remove("resourceslices", "", choose(in, "n1", "n2", "n3", "n1-mig"))
	case n == 35 && len(c.nodes) > 0:
		node := c.nodes[c.under(len(c.nodes))]
		c.deleteNode(node)
		c.note("Node %s is deleted", node.Name)
	case n == 36 && len(c.groups) > 0:
		group := c.groups[c.under(len(c.groups))]
		c.deleteGroup(group)
		c.note("PodGroup %s is deleted", group.Name)
	case n == 37 && len(c.queues) > 0:
		queue := c.queues[c.under(len(c.queues))]
		c.deleteQueue(queue)
		c.note("Queue %s is deleted", queue.Name)
	case n == 38:
		c.note("the scheduler restarts")
		c.restart()
	case n >= 40:
		c.edits()
	default:
		c.clock.SetTime(c.clock.Now().Add(choose(in, time.Second, 40*time.Second)))
	}
}

func (c *fuzzCluster) changeClass() {
	name := choose(c.fuzzInput, "h100", "a100", "carded", "part", "mig", "any")
	if c.oneIn(2) {
		c.remove("deviceclasses", "", name)
		return
	}
	c.addClass(name)
	c.note("DeviceClass %s is as at the start, and may offer a resource", name)
}

// changePod changes one pod as a kubelet, a controller or a user does.
func (c *fuzzCluster) changePod() {
	if len(c.pods) == 0 {
		return
	}
	among := c.pods
	if placed := slices.DeleteFunc(slices.Clone(c.pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" }); len(placed) > 0 && !c.oneIn(3) {
		among = placed
	}
	pod := among[c.under(len(among))].DeepCopy()
	switch c.under(8) {
	case 0:
		c.terminate(pod)
	case 1:
		c.deletePod(pod)
		c.note("Pod %s is gone", pod.Name)
	case 2:
		if pod.Spec.NodeName != "" && !isOver(pod) {
			pod.Status.Phase = choose(c.fuzzInput, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown)
			c.putPod(pod)
			c.note("Pod %s is %s", pod.Name, pod.Status.Phase)
		}
	case 3:
		pod.Spec.SchedulingGates = nil
		c.putPod(pod)
		c.note("Pod %s has no gates", pod.Name)
	case 4:
		pod.Annotations[card.NameAnnotation] = choose(c.fuzzInput, "H100", "A100", "|", "A100|H100")
		c.putPod(pod)
		c.note("Pod %s: cards %q", pod.Name, pod.Annotations[card.NameAnnotation])
	case 5:
		if len(c.late) > 0 {
			return // Volcano forgets that it binds a pod if its PodGroup changes in the meantime
		}
		pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = choose(c.fuzzInput, "g1", "g2", "later", "")
		c.putPod(pod)
		c.note("Pod %s: group %q", pod.Name, pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey])
	default:
		c.createClaims(pod)
	}
}

// terminate starts to delete a pod, which sometimes may run for longer than room is kept for others. A pod without a node is gone at once.
func (c *fuzzCluster) terminate(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		c.deletePod(pod)
		c.note("Pod %s is gone", pod.Name)
		return
	}
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: c.clock.Now().Add(choose(c.fuzzInput, 0, 0, 0, time.Hour))}
	c.putPod(pod)
	c.note("Pod %s is terminating until %s", pod.Name, pod.DeletionTimestamp.Format(time.TimeOnly))
}

// changeClaim changes a claim as a user, a driver or another scheduler does.
func (c *fuzzCluster) changeClaim() {
	all := c.claims()
	if len(all) == 0 {
		return
	}
	claim := all[c.under(len(all))]
	switch c.under(5) {
	case 0:
		if claim.Status.Allocation == nil && len(c.late) == 0 { // otherwise, two writers may allocate the same device at once
			c.writeAllocation(claim)
		}
	case 1:
		claim.Status.ReservedFor = nil
		c.writeClaim(claim)
		c.note("ResourceClaim %s is reserved for nobody", claim.Name)
	case 2:
		if claim.Status.Allocation != nil {
			c.deallocated = append(c.deallocated, claim.DeepCopy())
		}
		claim.Status = resourcev1.ResourceClaimStatus{}
		c.writeClaim(claim)
		c.note("ResourceClaim %s is deallocated", claim.Name)
	case 3:
		c.deleteClaim(claim)
	default:
		if claim.Status.Allocation != nil && claim.DeletionTimestamp == nil {
			claim.DeletionTimestamp = &metav1.Time{Time: c.clock.Now()}
			c.writeClaim(claim)
			c.note("ResourceClaim %s is terminating", claim.Name)
		}
	}
}

// control does, for some objects, the work of controllers and kubelets.
func (c *fuzzCluster) control() {
	for _, pod := range slices.Clone(c.pods) {
		switch {
		case pod.DeletionTimestamp != nil && c.oneIn(3):
			c.deletePod(pod)
			c.note("Pod %s is gone", pod.Name)
		case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && !c.oneIn(3):
			started := pod.DeepCopy()
			started.Status.Phase = corev1.PodRunning
			c.putPod(started)
		case pod.Spec.NodeName == "" && !c.oneIn(3):
			c.createClaims(pod)
		}
	}
	for _, claim := range c.claims() {
		if !c.oneIn(3) {
			c.controlClaim(claim)
		}
	}
}

// controlClaim removes consumers that are gone. It deallocates a claim without consumers, and deletes the claim if its pod is gone.
func (c *fuzzCluster) controlClaim(claim *resourcev1.ResourceClaim) {
	before := len(claim.Status.ReservedFor)
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
		pod, exists := c.pods.get(r.Name)
		return !exists || pod.UID != r.UID || isOver(pod)
	})
	if owner := metav1.GetControllerOf(claim); owner != nil && len(claim.Status.ReservedFor) == 0 {
		if pod, exists := c.pods.get(owner.Name); !exists || pod.UID != owner.UID || isOver(pod) {
			c.remove("resourceclaims", "ns", claim.Name)
			return
		}
	}
	if len(claim.Status.ReservedFor) == before {
		return
	}
	if len(claim.Status.ReservedFor) == 0 {
		claim.Status = resourcev1.ResourceClaimStatus{}
	}
	c.writeClaim(claim)
	c.note("ResourceClaim %s has %d consumers", claim.Name, len(claim.Status.ReservedFor))
}

func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
