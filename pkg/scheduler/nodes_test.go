// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/dra"
)

const gpu = "nvidia.com/gpu"

// offering returns the offers of a class with a number of devices on each node.
func offering(number int, nodes ...string) *dra.Offers {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To(gpu)}}
	var slices []*resourceapi.ResourceSlice
	for _, node := range nodes {
		spec := resourceapi.ResourceSliceSpec{Driver: "gpu", NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1}}
		for i := range number {
			spec.Devices = append(spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
		}
		slices = append(slices, &resourceapi.ResourceSlice{Spec: spec})
	}
	return dra.NewOffers(dra.NewCatalog([]*resourceapi.DeviceClass{class}, slices), dra.NewMatcher(cel.NewCache(1, cel.Features{})), nil)
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}, NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.34.1"},
	}}
}

// gpusOf returns the extended resource of a node in the next session, or -1 if the session lacks the node.
func gpusOf(cache *schedulercache.SchedulerCache, node string) float64 {
	info := cache.Snapshot().Nodes[node]
	if info == nil {
		return -1
	}
	return info.Allocatable.ScalarResources[gpu] / 1000
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatal(what)
	}
}

// watched reports whether a fake API server is watched for a resource. It does not send changes that happen between an informer's list and
// its watch.
func watched(kube *fake.Clientset, resource string) bool {
	return slices.ContainsFunc(kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) })
}

func TestTheCachesNodesListWhatDRAOffersThem(t *testing.T) {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	n, err := newNodes(cache)
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string) {
		if _, err := cache.Client().CoreV1().Nodes().Create(t.Context(), newNode(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the cache has no node "+name, func() bool { return gpusOf(cache, name) >= 0 })
	}
	cache.Run(t.Context().Done())
	eventually(t, "nodes are not watched", func() bool { return watched(cache.Client().(*fake.Clientset), "nodes") })
	create("n1")
	if n.show(nil); gpusOf(cache, "n1") != 0 || n.shown != nil {
		t.Error("a node lists devices before anything is offered")
	}

	offers := offering(8, "n1", "n2")
	if n.show(offers); gpusOf(cache, "n1") != 8 {
		t.Errorf("a node that was there before the offers lists %v, want 8", gpusOf(cache, "n1"))
	}
	if create("n2"); gpusOf(cache, "n2") != 8 {
		t.Errorf("a node that comes after the offers lists %v, want 8", gpusOf(cache, "n2"))
	}
	info := cache.Nodes["n1"].Node
	if n.show(offers); cache.Nodes["n1"].Node != info {
		t.Error("a node is set anew, though nothing has changed")
	}

	// The informer still has n1 without the offers. The cache takes it again, for example because its CSINode has changed.
	if err := cache.SyncNode("n1"); err != nil {
		t.Fatal(err)
	}
	if n.show(offers); gpusOf(cache, "n1") != 8 {
		t.Errorf("a node that was synced lists %v, want 8", gpusOf(cache, "n1"))
	}

	if n.show(offering(4, "n1")); gpusOf(cache, "n1") != 4 || gpusOf(cache, "n2") != 0 {
		t.Errorf("the nodes list %v and %v after devices have gone, want 4 and 0", gpusOf(cache, "n1"), gpusOf(cache, "n2"))
	}
	if err := cache.Client().CoreV1().Nodes().Delete(t.Context(), "n2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache keeps a node that is gone", func() bool { return gpusOf(cache, "n2") < 0 })
	if n.show(nil); gpusOf(cache, "n1") != 0 || len(n.shown) != 1 {
		t.Errorf("the node lists %v after nothing is offered any more, and %d nodes are remembered", gpusOf(cache, "n1"), len(n.shown))
	}
}

// Volcano reads 8Ei cores as -1, and other large quantities as arbitrary values.
func TestANodeThatOffersMoreThanCanBeCountedOffersTheMostThatCan(t *testing.T) {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	if _, err := newNodes(cache); err != nil {
		t.Fatal(err)
	}
	cache.Run(t.Context().Done())
	eventually(t, "nodes are not watched", func() bool { return watched(cache.Client().(*fake.Clientset), "nodes") })
	const most, milli = 1 << 53, 1000
	for i, quantity := range []string{"4Ei", "8Ei", "99999999999999999999", "1e30", "1e999999999"} {
		node := newNode(fmt.Sprint("n", i))
		node.Status.Allocatable["cpu"], node.Status.Allocatable["memory"], node.Status.Allocatable[gpu] = resource.MustParse(quantity), resource.MustParse(quantity), resource.MustParse(quantity)
		if _, err := cache.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the cache lacks a node", func() bool { return gpusOf(cache, node.Name) >= 0 })
		if idle := cache.Snapshot().Nodes[node.Name].Idle; idle.MilliCPU != most*milli || idle.Memory != most || idle.ScalarResources[gpu] != most*milli {
			t.Errorf("%s: %v is idle", quantity, idle)
		}
	}
}

// Without the usage, Volcano leaves a pod that is being bound out of the next session, with its cpu.
func TestAPodThatIsBeingBoundKeepsItsPlaceWhenDevicesDisappear(t *testing.T) {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	n, err := newNodes(cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.AddOrUpdateNode(newNode("n1")); err != nil {
		t.Fatal(err)
	}
	n.show(offering(8, "n1"))
	requests := corev1.ResourceList{"cpu": resource.MustParse("3"), gpu: resource.MustParse("2")}
	task := api.NewTaskInfo(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}},
	})
	task.Status = api.Binding
	if err := cache.Nodes["n1"].AddTask(task); err != nil {
		t.Fatalf("the node lists the devices, but refuses the pod: %v", err)
	}

	n.show(offering(8, "n2"))
	node := cache.Snapshot().Nodes["n1"]
	if len(node.Tasks) != 1 || node.Idle.MilliCPU != 1000 || node.Idle.ScalarResources[gpu] != 0 {
		t.Errorf("%d pods are on the node, and %v is idle", len(node.Tasks), node.Idle)
	}
}

// nodeWithPod is a cache with node n1, on which a pod runs.
func nodeWithPod(t *testing.T) (n *nodes, create func(), idle func() float64) {
	t.Helper()
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	n, err := newNodes(cache)
	if err != nil {
		t.Fatal(err)
	}
	cache.Run(t.Context().Done())
	kube := cache.Client().(*fake.Clientset)
	eventually(t, "nodes and pods are not watched", func() bool { return watched(kube, "nodes") && watched(kube, "pods") })
	core := kube.CoreV1()
	create = func() {
		if _, err := core.Nodes().Create(t.Context(), newNode("n1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the cache lacks the node", func() bool { return gpusOf(cache, "n1") >= 0 })
	}
	create()
	createPod(t, n, "p", "3", "n1")
	idle = func() float64 { return cache.Snapshot().Nodes["n1"].Idle.MilliCPU }
	eventually(t, "the pod is not on its node", func() bool { return idle() == 1000 })
	n.show(nil)
	return n, create, idle
}

// createPod creates a pod that runs on a node, or waits if the node is empty.
func createPod(t *testing.T, n *nodes, name, cpu, node string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{SchedulerName: "volcano", NodeName: node}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
	if pod.Status.Phase = corev1.PodPending; node != "" {
		pod.Status.Phase = corev1.PodRunning
	}
	if _, err := n.cache.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// replace deletes the node, and creates it again.
func replace(t *testing.T, n *nodes, create func()) {
	t.Helper()
	if err := n.cache.Client().CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache keeps the node", func() bool { return gpusOf(n.cache, "n1") < 0 })
	create()
}

// Volcano gives the room of such pods to others, and the kubelet then refuses these.
func TestANodeThatIsCreatedAgainHasThePodsThatRunThere(t *testing.T) {
	n, create, idle := nodeWithPod(t)
	replace(t, n, create)
	if n.show(nil); idle() != 1000 {
		t.Errorf("%v of 4000 are idle beside a pod that has 3000", idle())
	}
}

// TestAPodThatWasTriedOnANodeThatIsCreatedAgainWaits: as a bound pod, it would be evicted while it is being bound, and then be bound twice.
func TestAPodThatWasTriedOnANodeThatIsCreatedAgainWaits(t *testing.T) {
	n, create, idle := nodeWithPod(t)
	createPod(t, n, "waits", "100m", "")
	createPod(t, n, "later", "900m", "n1") // the cache is told of both in this order
	eventually(t, "the later pod is not on its node", func() bool { return idle() == 100 })
	if tried, err := n.cache.SharedInformerFactory().Core().V1().Pods().Lister().Pods("default").Get("waits"); err != nil {
		t.Fatal(err)
	} else {
		tried.Spec.NodeName = "n1" // as Volcano does when it tries the node
	}
	replace(t, n, create)
	if n.show(nil); idle() != 100 {
		t.Errorf("%v of 100 are idle beside a pod that waits", idle())
	}
}

// The garbage collector of Kubernetes deletes the pods of a node that is gone. It may do so while the node comes back.
func TestAPodThatEndsWhileItsNodeComesBackLeavesItsRoom(t *testing.T) {
	for name, end := range map[string]func(core typedcorev1.PodInterface, pod *corev1.Pod) error{
		"it is deleted": func(core typedcorev1.PodInterface, pod *corev1.Pod) error {
			return core.Delete(t.Context(), pod.Name, metav1.DeleteOptions{})
		},
		"it has ended": func(core typedcorev1.PodInterface, pod *corev1.Pod) error {
			ended := pod.DeepCopy()
			ended.Status.Phase = corev1.PodFailed
			_, err := core.UpdateStatus(t.Context(), ended, metav1.UpdateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, create, idle := nodeWithPod(t)
			replace(t, n, create)
			forgotten := n.forgotten()
			if len(forgotten) != 1 {
				t.Fatalf("%d pods are forgotten", len(forgotten))
			}
			if err := end(n.cache.Client().CoreV1().Pods("default"), forgotten[0]); err != nil {
				t.Fatal(err)
			}
			createPod(t, n, "later", "1", "n1") // the cache is told of changes in their order
			eventually(t, "the later pod is not on its node", func() bool { return idle() == 3000 })
			if n.restore(forgotten[0]); idle() != 3000 {
				t.Errorf("%v of 3000 are idle beside a pod that is gone", idle())
			}
		})
	}
}

func BenchmarkShowWhenNothingHasChanged(b *testing.B) {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	n, err := newNodes(cache)
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("node-%d", i))
		if err := cache.AddOrUpdateNode(newNode(names[i])); err != nil {
			b.Fatal(err)
		}
	}
	offers := offering(8, names...)
	for b.Loop() {
		n.show(offers)
	}
}
