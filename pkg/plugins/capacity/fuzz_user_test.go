// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// The following are actions of a user with the role edit if no admission policy refuses them: all except changes of the status of
// objects and of the records of the scheduler.

// edits makes one of these changes.
func (c *fuzzCluster) edits() {
	if c.oneIn(3) {
		c.editPod()
		return
	}
	c.editClaim()
}

// editPod changes what users can write to a pod, except what changePod does.
func (c *fuzzCluster) editPod() {
	if len(c.pods) == 0 {
		return
	}
	pod := c.pods[c.under(len(c.pods))].DeepCopy()
	switch c.under(4) {
	case 0:
		if pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" {
			pod.Finalizers, pod.DeletionTimestamp = []string{"example.com/kept"}, &metav1.Time{Time: c.clock.Now()}
			c.note("Pod %s is terminating without a node", pod.Name)
		}
	case 1:
		pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey] = choose(c.fuzzInput, "a", "b", "root", "gone")
		c.note("Pod %s: names queue %q", pod.Name, pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey])
	case 2:
		pod.Labels[upstreamv1beta1.PodPreemptable] = choose(c.fuzzInput, "true", "false")
		pod.Labels[upstreamv1beta1.QueueNameAnnotationKey] = "a"
		c.note("Pod %s: labels %v", pod.Name, pod.Labels)
	default:
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "other", UID: "other", Controller: ptr.To(true)}}
		c.note("Pod %s is owned by a job", pod.Name)
	}
	c.putPod(pod)
}

// editClaim changes what users can write to a claim, even while pods use it.
func (c *fuzzCluster) editClaim() {
	all := c.claims()
	if len(all) == 0 {
		return
	}
	claim := all[c.under(len(all))]
	switch c.under(6) {
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
	case 4:
		claim.Labels = map[string]string{upstreamv1beta1.QueueNameAnnotationKey: "a", upstreamv1beta1.KubeGroupNameAnnotationKey: "g1"}
		claim.Finalizers = nil
		c.note("ResourceClaim %s: labels %v, no finalizers", claim.Name, claim.Labels)
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

// annotate marks a claim as a claim for extended resources, or removes the mark.
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

// lostHoldings returns what running pods hold of deleted claims, including claims that were reserved for nobody any more. A claim that was
// deallocated before is charged only by a process that has started since, which reads it from the records of the pods.
func (c *fuzzCluster) lostHoldings() []fuzzHolding {
	var all []fuzzHolding
	for i, claim := range slices.Concat(c.lost, c.deallocated) {
		recorded := func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(chargerecord.ClaimsOf(pod), func(other *resourcev1.ResourceClaim) bool { return other.UID == claim.UID })
		}
		users := slices.DeleteFunc(slices.Clone(c.pods), func(pod *corev1.Pod) bool {
			return pod.Spec.NodeName == "" || !uses(pod, claim) && (isOver(pod) || !recorded(pod))
		})
		if len(users) == 0 {
			continue
		}
		amounts, countable := c.amountsOf(claim)
		if !countable {
			continue
		}
		queues, sure := c.payersOf(claim), i < len(c.lost)
		for _, pod := range users {
			queue := c.queueOf(pod)
			queues = append(queues, queue)
			sure = sure && uses(pod, claim) && recorded(pod) && queue != "" && pod.DeletionTimestamp == nil
		}
		all = append(all, fuzzHolding{"lost claim " + claim.Name, amounts, queues, sure, sure})
		all = append(all, c.resourceHoldings(claim, queues, false)...)
	}
	return all
}

// payersOf returns the queue for which a claim got its devices, according to its record, and its ancestors.
func (c *fuzzCluster) payersOf(claim *resourcev1.ResourceClaim) []string {
	return slices.DeleteFunc(chargerecord.Path(claim), func(queue string) bool { return c.path(queue) == nil })
}

// elsewhere is the payer of a claim whose queue was missing in some session. This is an ancestor that a scheduler without memory does not
// know.
const elsewhere = "-"

// checkPayers fails if the charge of a claim has moved since the last session away from the queue for which the claim got its devices, even across
// restarts of the scheduler.
func (c *fuzzCluster) checkPayers() {
	if !c.options.Devices {
		return
	}
	read := maps.Equal(c.versions, c.claimVersions())
	books, before := opened.snapshot.Held(), c.payers
	c.payers = map[types.UID]string{}
	for _, claim := range c.claims() {
		path, known := chargerecord.Path(claim), opened.snapshot.Counter.Claims.Known(claim.UID)
		if path == nil || known == nil || claim.Status.Allocation == nil {
			continue
		}
		c.payers[claim.UID] = before[claim.UID]
		if _, exists := books.Queue(path[0]); !exists {
			c.payers[claim.UID] = elsewhere
		}
		queue, _, charged := books.Payer(known.Part)
		if !read || !charged || c.payers[claim.UID] == elsewhere {
			continue
		}
		payer := books.Name(queue)
		if was := before[claim.UID]; was != "" && was != payer {
			c.fail("the charge of claim %s has moved from queue %s to queue %s, and its record says %v", claim.Name, was, payer, path)
		}
		c.payers[claim.UID] = payer
	}
}
