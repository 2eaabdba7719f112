// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAClaimThatIsDeletedBeforeTheBindingOfItsPodIsKnownStaysTaken covers both orders of events, because claims and pods have
// separate watches.
func TestAClaimThatIsDeletedBeforeTheBindingOfItsPodIsKnownStaysTaken(t *testing.T) {
	f := newFixture(t, usedBy("c", "gpu-0", "a"))
	f.eventually("pods are watched", func() bool { return f.watched("pods") })
	waiting := pod("a")
	waiting.Status.Phase = corev1.PodPending
	f.addPod(waiting)
	f.deleteClaim("c")
	f.eventually("the reader knows that the claim is deleted", func() bool { _, err := f.reader.Claim("ns", "c"); return err != nil })

	bound := running("a", usedBy("c", "gpu-0", "a"))
	if _, err := f.kube.CoreV1().Pods("ns").Update(t.Context(), bound, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the claim is lost", func() bool { return slices.Equal(f.lostBy("a"), []types.UID{"c-uid"}) })
	if !f.taken("gpu-0") {
		t.Error("the device is free although the pod uses it")
	}
	if err := f.kube.CoreV1().Pods("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the device is free", func() bool { return !f.taken("gpu-0") })
}
