// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/record"
)

// What follows is what a user with the role edit does where no admission policy refuses it: all but the status of objects, and the
// records of the scheduler.

// editClaim changes what users can write of a claim, also while pods use it.
func (c *fuzzCluster) editClaim() {
	all := c.claims()
	if len(all) == 0 {
		return
	}
	claim := all[c.under(len(all))]
	switch c.under(5) {
	case 0:
		c.own(claim)
	case 1:
		claim.OwnerReferences = nil
		c.note("ResourceClaim %s has no owner", claim.Name)
	case 2:
		c.annotate(claim)
	case 3:
		c.deleteClaim(claim)
		return
	default:
		c.deleteClaim(claim)
		claim.ObjectMeta = c.meta(claim.Name, "ns")
		claim.Status = resourcev1.ResourceClaimStatus{}
		c.note("ResourceClaim %s is created again", claim.Name)
	}
	c.put("resourceclaims", claim)
}

// own makes a pod the controller of a claim.
func (c *fuzzCluster) own(claim *resourcev1.ResourceClaim) {
	if len(c.pods) == 0 {
		return
	}
	pod := c.pods[c.under(len(c.pods))]
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
	c.note("ResourceClaim %s is owned by pod %s", claim.Name, pod.Name)
}

// annotate says of a claim that it is for extended resources, or that it is not.
func (c *fuzzCluster) annotate(claim *resourcev1.ResourceClaim) {
	annotations := maps.Clone(claim.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if _, extended := annotations[resourcev1.ExtendedResourceClaimAnnotation]; extended {
		delete(annotations, resourcev1.ExtendedResourceClaimAnnotation)
	} else {
		annotations[resourcev1.ExtendedResourceClaimAnnotation] = "true"
	}
	claim.Annotations = annotations
	c.note("ResourceClaim %s: annotations %v", claim.Name, annotations)
}

// deleteClaim removes the finalizer of a claim, and deletes it.
func (c *fuzzCluster) deleteClaim(claim *resourcev1.ResourceClaim) {
	if claim.Status.Allocation != nil {
		c.lost = append(c.lost, claim.DeepCopy())
	}
	c.remove("resourceclaims", "ns", claim.Name)
}

// lostHoldings returns what pods hold of claims that were deleted while they run.
func (c *fuzzCluster) lostHoldings() []fuzzHolding {
	var all []fuzzHolding
	for _, claim := range c.lost {
		users := slices.DeleteFunc(slices.Clone(c.pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" || !uses(pod, claim) })
		if len(users) == 0 {
			continue
		}
		amounts, countable := c.amountsOf(claim)
		if !countable {
			continue
		}
		queues, sure := c.payersOf(claim), true
		for _, pod := range users {
			queue := c.queueOf(pod)
			queues = append(queues, queue)
			recorded := slices.ContainsFunc(record.ClaimsOf(pod), func(other *resourcev1.ResourceClaim) bool { return other.UID == claim.UID })
			sure = sure && recorded && queue != "" && pod.DeletionTimestamp == nil
		}
		all = append(all, fuzzHolding{"lost claim " + claim.Name, amounts, queues, sure, sure})
		all = append(all, c.resourceHoldings(claim, queues, false)...)
	}
	return all
}

// payersOf returns the queue for which a claim got its devices, by its record, and those above it.
func (c *fuzzCluster) payersOf(claim *resourcev1.ResourceClaim) []string {
	return slices.DeleteFunc(record.Path(claim), func(queue string) bool { return c.path(queue) == nil })
}
