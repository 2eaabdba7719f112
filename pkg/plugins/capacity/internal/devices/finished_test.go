// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holding is a pod with an extended claim, and the scheduler's view of both.
func holding(t *testing.T) (*fixture, *corev1.Pod) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p-uid"}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "made"}
	made := on("n1", claim("made", exactly("h100", 1)), "h100-0")
	made.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	made.Finalizers = []string{resourceapi.Finalizer}
	made.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}
	return newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{made}}), pod
}

// TestAPodThatIsDeletedGivesUpItsExtendedClaim: the controller of Kubernetes 1.34 may have read the claim before it was notified of the
// deletion.
func TestAPodThatIsDeletedGivesUpItsExtendedClaim(t *testing.T) {
	f, pod := holding(t)
	f.cache.remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "another"}})
	if f.cache.finished.Len() > 0 {
		t.Error("a pod without such a claim is looked at")
	}
	f.cache.remove(pod)
	f.eventually("the claim is deleted", func() bool { return ClaimReader{f.cache}.ExtendedClaim(pod) == nil })
}

func TestAPodThatHasFinishedGivesUpItsExtendedClaim(t *testing.T) {
	f, pod := holding(t)
	reader := ClaimReader{f.cache}
	pod.Status.Phase = corev1.PodRunning
	f.cache.update(pod)
	if f.cache.finished.Len() > 0 || reader.ExtendedClaim(pod) == nil {
		t.Error("a pod that runs gives up its claim")
	}
	done := pod.DeepCopy()
	done.Status.Phase = corev1.PodSucceeded
	f.cache.update(done)
	f.eventually("the claim is deleted", func() bool { return reader.ExtendedClaim(pod) == nil })
}
