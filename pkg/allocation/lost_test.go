// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// running returns a running pod with a record of claims.
func running(name string, claims ...*resourceapi.ResourceClaim) *corev1.Pod {
	p := chargerecord.OnPod(pod(name), "root/q", "")
	p.Status.Phase = corev1.PodRunning
	chargerecord.SetClaims(p, claims)
	return p
}

func (f *fixture) addPod(p *corev1.Pod) {
	f.Helper()
	f.createPod(p)
	f.eventually("the reader has the pod", func() bool { _, err := f.reader.lost.pods.Pods("ns").Get(p.Name); return err == nil })
}

func (f *fixture) lostBy(name string) []types.UID {
	var lost []types.UID
	for _, c := range f.reader.LostClaims(pod(name).UID) {
		lost = append(lost, c.UID)
	}
	return lost
}

func TestTheDevicesOfADeletedClaimStayTakenUntilTheLastOfItsPodsEnds(t *testing.T) {
	f := newFixture(t, usedBy("c", "gpu-0", "a", "b", "gone"))
	f.addPod(running("a"))
	f.addPod(running("b"))
	f.deleteClaim("c")
	f.eventually("the claim is lost", func() bool { return slices.Equal(f.lostBy("a"), []types.UID{"c-uid"}) })
	if lost := f.lostBy("gone"); lost != nil || !f.taken("gpu-0") {
		t.Errorf("a pod that does not exist has lost %q; the device is taken: %t", lost, f.taken("gpu-0"))
	}
	before := f.reader.DevicesVersion()

	ended := running("a")
	ended.Status.Phase = corev1.PodSucceeded
	if _, err := f.kube.CoreV1().Pods("ns").UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("pod a has ended", func() bool { return f.lostBy("a") == nil })
	if !f.taken("gpu-0") {
		t.Error("the device is free although pod b uses it")
	}
	if err := f.kube.CoreV1().Pods("ns").Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the device is free", func() bool { return !f.taken("gpu-0") })
	if f.reader.DevicesVersion() == before {
		t.Error("whoever remembers that the device is taken does not learn that it is free")
	}
}

func TestAClaimThatWasDeletedBeforeTheStartIsKnownFromTheRecordOfThePod(t *testing.T) {
	recorded := usedBy("c", "gpu-0", "a")
	recorded.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "h100", Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: "true"}}},
	}}}
	f := newFixture(t, usedBy("other", "gpu-1", "a"))
	f.addPod(running("a", recorded, usedBy("other", "gpu-1", "a")))
	f.eventually("the claim that does not exist is lost", func() bool { return slices.Equal(f.lostBy("a"), []types.UID{"c-uid"}) })
	lost := f.reader.LostClaims(pod("a").UID)[0]
	if class := lost.Spec.Devices.Requests[0].Exactly.DeviceClassName; class != "h100" || lost.Namespace != "ns" || !f.taken("gpu-0") {
		t.Errorf("the lost claim %s/%s asks for class %q; its device is taken: %t", lost.Namespace, lost.Name, class, f.taken("gpu-0"))
	}

	if _, err := f.kube.ResourceV1().ResourceClaims("ns").Create(t.Context(), usedBy("c", "gpu-0", "a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("a claim that was only late is not lost", func() bool { return f.lostBy("a") == nil })
	all, err := f.reader.Allocated()
	if err != nil || len(all) != 2 {
		t.Errorf("%d claims have devices, want 2; error %v", len(all), err)
	}
}

// TestARecordThatAUserWritesOnAPodThatIsNotBoundTakesNothing covers unbound pods. For bound pods, an admission policy keeps
// users from writing a record.
func TestARecordThatAUserWritesOnAPodThatIsNotBoundTakesNothing(t *testing.T) {
	f := newFixture(t)
	forged := running("a", usedBy("c", "gpu-0", "a"))
	forged.Status.Phase = corev1.PodPending
	f.addPod(forged)
	f.addPod(running("b", usedBy("d", "gpu-1", "b")))
	f.eventually("the record of pod b is read", func() bool { return f.taken("gpu-1") })
	if f.taken("gpu-0") {
		t.Error("the device is taken")
	}
	if bound := chargerecord.OnPod(forged, "root/q", ""); chargerecord.ClaimsOf(bound) != nil {
		t.Error("the binding keeps the forged record")
	}
}

// TestAClaimThatIsDeletedBeforeTheBindingOfItsPodIsKnownStaysTaken covers both orders of events, because claims and pods have
// separate watches.
func TestAClaimThatIsDeletedBeforeTheBindingOfItsPodIsKnownStaysTaken(t *testing.T) {
	f := newFixture(t, usedBy("c", "gpu-0", "a"))
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
