// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
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

// observing returns an observer of a session that can read some pods.
func observing(t *testing.T, pods ...*corev1.Pod) *observer {
	t.Helper()
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	for _, pod := range pods {
		if err := indexer.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	return &observer{snapshot: &snapshot.Snapshot{Input: snapshot.Input{Pods: corelisters.NewPodLister(indexer)}}}
}

func TestAPodEndsWhenItsContainersDo(t *testing.T) {
	o := observing(t, newPod("running"), finishes(newPod("finished"), 50, 40))
	for _, key := range []accounting.Key{"uid-finished", "uid-finished/resources"} {
		if end := o.endOf(key, "ns", "finished"); !end.Equal(after(50)) {
			t.Errorf("%s ended at %s", key, end)
		}
	}
	for _, c := range []struct {
		what string
		key  accounting.Key
		name string
	}{
		{"a pod that runs", "uid-running", "running"},
		{"a pod that is not there", "uid-gone", "gone"},
		{"a pod whose name another one has", "another", "finished"},
		{"a claim", "claim", ""},
	} {
		if end := o.endOf(c.key, "ns", c.name); !end.IsZero() {
			t.Errorf("%s ended at %s", c.what, end)
		}
	}
}

func TestASessionTakesWhatEndedBeforeItsSnapshot(t *testing.T) {
	r, _ := recording()
	r.PodDeleted(newPod("before"))
	session := r.Open()
	r.PodDeleted(newPod("meanwhile"))
	for range 2 { // a session that observes again takes nothing that its snapshot has
		session.Observe(nil, nil, true)
	}
	expectEndings(t, r, ending{"uid-meanwhile", begins}, ending{"uid-meanwhile/resources", begins})
}
