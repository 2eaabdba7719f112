// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/readiness"
)

func TestADeletedPodEndsWhenItsContainersDid(t *testing.T) {
	r, clock := recording()
	clock.Step(time.Minute)
	finished, running := finishes(newPod("finished"), 30), newPod("running")
	kube := fake.NewClientset(finished, running)
	watching := signalWatch(kube, "pods")
	factory := informers.NewSharedInformerFactory(kube, 0)
	r.WatchPods(factory.Core().V1().Pods().Informer())
	factory.Start(t.Context().Done())
	<-watching
	for _, c := range []struct {
		pod  string
		want []ending
	}{
		{"finished", []ending{{"uid-finished", after(30)}, {"uid-finished/resources", after(30)}}},
		{"running", []ending{{"uid-running", after(60)}, {"uid-running/resources", after(60)}}},
	} {
		if err := kube.CoreV1().Pods("ns").Delete(t.Context(), c.pod, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expectEndings(t, r, c.want...)
	}
}

func TestAClaimEndsWhenItsDevicesAreFree(t *testing.T) {
	r, clock := recording()
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpus", UID: "uid-gpus"},
		Status:     resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}},
	}
	kube := fake.NewClientset(claim)
	watching := signalWatch(kube, "resourceclaims")
	reader, err := allocation.NewReader(t.Context(), kube, readiness.NewInformers(clock), informers.NewSharedInformerFactory(kube, 0).Core().V1().Pods())
	if err != nil {
		t.Fatal(err)
	}
	r.WatchClaims(reader)
	<-watching
	clock.Step(7 * time.Second)
	free := claim.DeepCopy()
	free.Status.Allocation = nil
	if _, err := kube.ResourceV1().ResourceClaims("ns").UpdateStatus(t.Context(), free, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEndings(t, r, ending{"uid-gpus", after(7)})
}

func TestNothingIsNotedIfUsageIsNotRecorded(t *testing.T) {
	r := NewRecorder(testingclock.NewFakeClock(begins))
	r.PodDeleted(newPod("p"))
	if n := r.endings.count(); n != 0 {
		t.Errorf("%d endings are noted", n)
	}
}
