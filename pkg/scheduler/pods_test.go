// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
)

// wholePod returns a pod with pod-level requests for two cores and huge pages. Without a node, it is pending.
func wholePod(name, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: "job"}},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", NodeName: node, Containers: []corev1.Container{{Name: "main"}},
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "hugepages-2Mi": resource.MustParse("2Mi")}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if node != "" {
		pod.Status.Phase = corev1.PodRunning
	}
	return pod
}

// newPodsFixture runs a cache with node n1, and a job with these pods.
func newPodsFixture(t *testing.T, pods ...*corev1.Pod) *pods {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	counted, err := newPods(cache, newPace(time.Second, nil))
	if err != nil {
		t.Fatal(err)
	}
	cache.Run(t.Context().Done())
	kube := cache.Client().(*fake.Clientset)
	eventually(t, "pods are not watched", func() bool { return watched(kube, "pods") && watched(kube, "nodes") })
	node := newNode("n1")
	node.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("8Mi")
	if _, err := kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache lacks the node", func() bool { return cache.Snapshot().Nodes["n1"] != nil })
	for _, pod := range pods {
		if _, err := kube.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cache.Lock()
	cache.Queues["q"] = api.NewQueueInfo(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q"}})
	cache.Unlock()
	eventually(t, "the cache lacks pods", func() bool {
		cache.Lock()
		defer cache.Unlock()
		job := cache.Jobs["ns/job"]
		if job == nil || len(job.Tasks) < len(pods) {
			return false
		}
		job.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}, Spec: scheduling.PodGroupSpec{Queue: "q"}}})
		return true
	})
	return counted
}

func TestASnapshotHasWhatPodsRequestAsAWhole(t *testing.T) {
	leaving := wholePod("leaves", "n1")
	now := metav1.Now()
	leaving.DeletionTimestamp, leaving.Finalizers = &now, []string{"example.com/wait"}
	counted := newPodsFixture(t, wholePod("runs", "n1"), wholePod("waits", ""), leaving)
	for range 2 { // the second snapshot remembers the pods
		snapshot := counted.Snapshot()
		node, job := snapshot.Nodes["n1"], snapshot.Jobs["ns/job"]
		const huge = 2 << 20 * 1000
		if node.Idle.MilliCPU != 0 || node.Used.MilliCPU != 4000 || node.Releasing.MilliCPU != 2000 || node.Idle.ScalarResources["hugepages-2Mi"] != 2*huge {
			t.Errorf("idle: %v, used: %v, releasing: %v", node.Idle, node.Used, node.Releasing)
		}
		if job.TotalRequest.MilliCPU != 6000 || job.Allocated.MilliCPU != 2000 {
			t.Errorf("requested: %v, allocated: %v", job.TotalRequest, job.Allocated)
		}
		task := job.TaskStatusIndex[api.Pending]["waits"]
		if task.BestEffort || task.Resreq.MilliCPU != 2000 || task.InitResreq.MilliCPU != 2000 || task.Resreq.ScalarResources["hugepages-2Mi"] != huge {
			t.Errorf("best effort: %t, resources: %v, initially: %v", task.BestEffort, task.Resreq, task.InitResreq)
		}
		if err := node.RemoveTask(node.Tasks["ns/runs"]); err != nil || node.Idle.MilliCPU != 2000 {
			t.Errorf("idle when a pod is gone: %v (%v)", node.Idle, err)
		}
	}
	if len(counted.beside) != 3 {
		t.Errorf("%d pods are remembered", len(counted.beside))
	}
}

func TestASnapshotLeavesPodsAloneThatCannotBeCounted(t *testing.T) {
	pod := wholePod("huge", "")
	pod.Spec.Resources.Requests["cpu"] = resource.MustParse("1e999999999")
	if task := newPodsFixture(t, pod).Snapshot().Jobs["ns/job"].Tasks["huge"]; task.Resreq.MilliCPU != 0 {
		t.Errorf("resources: %v", task.Resreq)
	}
}

// TestVolcanoDoesNotReadDecisionsThatUsersWrite: only the scheduler writes them, when it binds a pod.
func TestVolcanoDoesNotReadDecisionsThatUsersWrite(t *testing.T) {
	for node, want := range map[string]int{"": 1, "n1": 3} {
		pod := wholePod("p", node)
		pod.Annotations = map[string]string{"volcano.sh/topology-decision": `{"numa":{"0":{"cpu":"1e-20000000"}}}`, "volcano.sh/vgpu-ids-new": "GPU-0,NVIDIA", "other": "kept"}
		object, err := new(pods).notice(pod)
		if err != nil {
			t.Fatal(err)
		}
		if got := object.(*corev1.Pod).Annotations; len(got) != want || got["other"] != "kept" {
			t.Errorf("node %q: %v", node, got)
		}
	}
}

func TestTheCacheKeepsNoManagedFields(t *testing.T) {
	managed := metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}
	for _, transformed := range []func() (any, error){
		func() (any, error) { return new(pods).notice(&corev1.Pod{ObjectMeta: managed}) },
		func() (any, error) { return new(nodes).transform(&corev1.Node{ObjectMeta: managed}) },
	} {
		object, err := transformed()
		if err != nil || len(object.(metav1.Object).GetManagedFields()) != 0 || object.(metav1.Object).GetName() != "a" {
			t.Errorf("the cache has %v, %v", object, err)
		}
	}
}
