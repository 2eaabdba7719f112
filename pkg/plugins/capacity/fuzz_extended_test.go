// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
)

const fuzzExtended = "nvidia.com/gpu"

// offerResource makes some classes offer the extended resource.
func (c *fuzzCluster) offerResource(class *resourcev1.DeviceClass) {
	if !c.options.Extended || class.Name != "h100" && class.Name != "carded" {
		return
	}
	if class.Name == "h100" {
		class.Annotations[card.NameAnnotation] = "H100"
	}
	if class.Name == "h100" && !c.oneIn(8) || class.Name == "carded" && c.oneIn(8) {
		class.Spec.ExtendedResourceName = ptr.To(fuzzExtended)
		c.note("DeviceClass %s offers %s", class.Name, fuzzExtended)
	}
}

// offering returns the class that offers the extended resource, empty for none.
func (c *fuzzCluster) offering() string {
	var newest *resourcev1.DeviceClass
	for _, name := range []string{"carded", "h100"} {
		class := c.class(name)
		if class == nil || ptr.Deref(class.Spec.ExtendedResourceName, "") != fuzzExtended {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&class.CreationTimestamp) {
			newest = class
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Name
}

// showOffers makes the nodes of the cache list the offers of DRA, as the scheduler does before each session.
func (c *fuzzCluster) showOffers(tiers []conf.Tier) {
	c.offers = c.plugins.Begin(c.scheduler, tiers, func() {})
	for _, info := range c.scheduler.Nodes {
		if info.Node == nil {
			continue
		}
		inUse := func(name corev1.ResourceName) int64 { return int64(math.Ceil(info.Used.ScalarResources[name] / 1000)) }
		if shown := dra.ShowOffersInUse(info.Node, c.offers, inUse); shown != info.Node {
			info.SetNode(shown)
		}
	}
}

// shownNode returns a node as the scheduler's informer delivers it.
func (c *fuzzCluster) shownNode(node *corev1.Node) *corev1.Node {
	return dra.ShowOffers(node.DeepCopy(), c.offers)
}

// readExtendedStatus copies the status that the plugin has written to a pod.
func (c *fuzzCluster) readExtendedStatus(pod *corev1.Pod) {
	written, err := c.kube.CoreV1().Pods(pod.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
	if err == nil && written.UID == pod.UID {
		pod.Status.ExtendedResourceClaimStatus = written.Status.ExtendedResourceClaimStatus
	}
}

// extended returns the claim that gives a pod devices for its extended resources, nil if there is none.
func (d fuzzDecision) extended(pod *corev1.Pod) *string {
	if pod.Spec.NodeName != "" && pod.Status.ExtendedResourceClaimStatus != nil {
		return &pod.Status.ExtendedResourceClaimStatus.ResourceClaimName
	}
	if claim := d.inMemory[pod.UID]; claim != nil {
		return &claim.Name
	}
	return nil
}

// extendedHoldings returns what pods hold whose claims are still to be created.
func (c *fuzzCluster) extendedHoldings(d fuzzDecision) []fuzzHolding {
	var all []fuzzHolding
	for _, pod := range c.pods {
		claim := d.inMemory[pod.UID]
		if claim == nil {
			continue
		}
		if amounts, countable := c.amountsOf(claim); countable {
			queue := c.queueOf(pod)
			sure := queue != "" && !d.earlier && pod.DeletionTimestamp == nil && !isOver(pod)
			all = append(all, fuzzHolding{"claim for pod " + pod.Name, amounts, []string{queue}, sure, !d.earlier})
		}
	}
	return all
}

// resourceHoldings returns the extended resources that a claim holds through the class of its devices. The claim made for a pod holds
// none: its pod does.
func (c *fuzzCluster) resourceHoldings(claim *resourcev1.ResourceClaim, queues []string, sure bool) []fuzzHolding {
	class := c.offering()
	if class == "" {
		return nil
	}
	count := 0.0
	for _, result := range claim.Status.Allocation.Devices.Results {
		if classOfRequest(claim, result.Request) == class && !ptr.Deref(result.AdminAccess, false) {
			count++
		}
	}
	for _, pod := range c.pods {
		status := pod.Status.ExtendedResourceClaimStatus
		if status == nil || status.ResourceClaimName != claim.Name {
			continue
		}
		if pod.Spec.NodeName != "" && !isOver(pod) && pod.DeletionTimestamp == nil && c.queueOf(pod) != "" &&
			len(claim.Status.ReservedFor) == 1 && claim.Status.ReservedFor[0].UID == pod.UID {
			return nil
		}
		sure = false
	}
	sure = sure && !dra.IsExtended(claim)
	return []fuzzHolding{{name: "resource of claim " + claim.Name, amounts: fuzzAmounts{fuzzExtended: count}, queues: queues, sure: sure, charged: sure}}
}

// checkServed fails if a pod gets devices for its extended resource on a node where device plugins serve it, or vice versa.
func (c *fuzzCluster) checkServed(pod *corev1.Pod, decided *schedulercache.BindContext, inMemory *string) {
	info := c.scheduler.Nodes[decided.TaskInfo.NodeName]
	if info == nil || info.Node == nil {
		return
	}
	served := requestsOfPod(pod)[fuzzExtended] > 0 && slices.Contains(dra.Served(info.Node), fuzzExtended)
	if served != (inMemory != nil) {
		c.fail("pod %s on node %s: DRA serves its resource: %v, it has a claim: %v", pod.Name, info.Name, served, inMemory != nil)
	}
	if inMemory == nil {
		return
	}
	claim := decisionOf([]*schedulercache.BindContext{decided}).inMemory[pod.UID]
	if got := len(claim.Status.Allocation.Devices.Results); float64(got) != requestsOfPod(pod)[fuzzExtended] {
		c.fail("pod %s requests %v devices and gets %d", pod.Name, requestsOfPod(pod)[fuzzExtended], got)
	}
}

// checkUnbound fails if an attempt to bind a pod has left something behind.
func (c *fuzzCluster) checkUnbound(pod *corev1.Pod) {
	if c.plugins.cache.devices == nil {
		return
	}
	for _, claim := range c.claims() {
		owner := metav1.GetControllerOf(claim)
		others := slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != pod.UID })
		now, exists := c.pods.get(pod.Name)
		bound := exists && now.UID == pod.UID && now.Spec.NodeName != ""
		if dra.IsExtended(claim) && claim.GenerateName != "" && owner != nil && owner.UID == pod.UID && !others && !bound {
			c.fail("pod %s is not bound, and claim %s is left", pod.Name, claim.Name)
		}
	}
}

// changeServing changes what serves the extended resource: DRA or device plugins.
func (c *fuzzCluster) changeServing() {
	switch name := choose(c.fuzzInput, fuzzNodeNames...); c.under(4) {
	case 0:
		c.changeSlice(name)
	case 1:
		c.addClass(choose(c.fuzzInput, "h100", "carded"))
	default:
		c.changeNode(name)
	}
}

// checkRestart fails if a scheduler without memory places a pod that this scheduler does not.
func (c *fuzzCluster) checkRestart() {
	for idle, sessions := 0, 0; idle < 2; sessions++ {
		if sessions > 12 {
			return // it evicts repeatedly, or pods are being bound
		}
		before := len(c.history)
		c.session()
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
		if idle++; slices.ContainsFunc(c.history[before:], func(line string) bool {
			return strings.HasPrefix(line, "  pod") || strings.HasPrefix(line, "  evicted")
		}) || len(c.late) > 0 {
			idle = 0
		}
	}
	if c.hasMoved() {
		return
	}
	c.note("the scheduler restarts when nothing happens any more")
	c.restart()
	before := len(c.history)
	for range 2 {
		c.session()
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
	}
	for _, line := range c.history[before:] {
		if strings.Contains(line, "is bound") {
			c.fail("a new scheduler places more: %s", line)
		}
	}
}
