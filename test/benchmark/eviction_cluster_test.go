// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/util"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

const (
	gpuClass    = "gpu"
	gpuDriver   = "gpu.example.com"
	gpuResource = "nvidia.com/gpu"
	gpusPerNode = 8
	lowPriority = "low"
	topPriority = "high"
)

// fullCluster is a cluster whose devices are all in use by one queue.
type fullCluster struct {
	*cache.SchedulerCache
	queues *queueServer
	// claims says that pods ask for devices with ResourceClaims, and not with an extended resource.
	claims bool
	// waiting are the pods that ask for devices.
	waiting []*corev1.Pod
	// asked is how often they were replaced, and evicted how many pods were evicted since.
	asked, evicted int
}

// ClientConfig implements cache.Cache. It makes the quotas of devices readable.
func (c *fullCluster) ClientConfig() *rest.Config {
	return &rest.Config{Host: "http://queues", Transport: c.queues}
}

// Evict implements cache.Cache. It counts, and leaves the cluster as it is for the next measurement.
func (c *fullCluster) Evict(*api.TaskInfo, string) error {
	c.evicted++
	return nil
}

// newFullCluster has pods on all devices. Each holds so many of them.
func newFullCluster(b *testing.B, claims bool, nodes, held int) *fullCluster {
	b.Helper()
	sc := cache.NewCustomMockSchedulerCache("volcano", util.NewFakeBinder(0), util.NewFakeEvictor(0), &util.FakeStatusUpdater{}, nil, &record.FakeRecorder{})
	c := &fullCluster{SchedulerCache: sc, claims: claims, queues: &queueServer{}}
	c.queues.ResourceVersion = "1"
	c.create(b, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: gpuClass}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", gpuDriver)}}},
	}})
	for i := range nodes {
		c.addNode(b, fmt.Sprint("node-", i))
	}
	c.AddPriorityClass(util.BuildPriorityClass(lowPriority, 1))
	c.AddPriorityClass(util.BuildPriorityClass(topPriority, 100))
	c.addQueues(nodes * gpusPerNode)
	for i := range nodes {
		for first := 0; first < gpusPerNode; first += held {
			name := fmt.Sprintf("holder-%d-%d", i, first)
			sc.AddPodGroupV1beta1(podGroup(name, "borrower", 1, upstreamv1beta1.PodGroupRunning, lowPriority))
			sc.AddPod(c.pod(b, name, name, fmt.Sprint("node-", i), first, held))
		}
	}
	return c
}

// start starts the informers.
func (c *fullCluster) start(b *testing.B) {
	ctx, stop := context.WithCancel(context.Background())
	b.Cleanup(stop)
	c.Run(ctx.Done())
}

func (c *fullCluster) create(b *testing.B, object runtime.Object) {
	b.Helper()
	if err := c.Client().(*fake.Clientset).Tracker().Add(object); err != nil {
		b.Fatal(err)
	}
}

func (c *fullCluster) addNode(b *testing.B, name string) {
	b.Helper()
	offered := api.BuildResourceList("64", "512Gi", api.ScalarResource{Name: "pods", Value: "110"})
	if !c.claims {
		offered = api.BuildResourceList("64", "512Gi", api.ScalarResource{Name: "pods", Value: "110"}, api.ScalarResource{Name: gpuResource, Value: fmt.Sprint(gpusPerNode)})
	}
	_ = c.AddOrUpdateNode(util.BuildNode(name, offered, nil))
	if !c.claims {
		return
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: ptr.To(name), Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
	}}
	for d := range gpusPerNode {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
	}
	c.create(b, slice)
}

// addQueues adds a queue that deserves all devices, and one that deserves none.
func (c *fullCluster) addQueues(devices int) {
	all := api.BuildResourceList("1000000", "1000Ti", api.ScalarResource{Name: gpuResource, Value: fmt.Sprint(devices)})
	none := api.BuildResourceList("0", "0", api.ScalarResource{Name: gpuResource, Value: "0"})
	for name, deserved := range map[string]corev1.ResourceList{"root": nil, "borrower": none, "owner": all} {
		queue := util.BuildQueueWithResourcesQuantity(name, deserved, nil)
		queue.Spec.Reclaimable = ptr.To(true)
		object := schedulingv1beta1.Queue{ObjectMeta: queue.ObjectMeta}
		if name != "root" {
			queue.Spec.Parent = "root"
			count := int64(0)
			if name == "owner" {
				count = int64(devices)
			}
			object.Spec.DRA = &schedulingv1beta1.DRAQuota{Deserved: schedulingv1beta1.DeviceQuotas{gpuClass: {Count: count}}}
		}
		c.AddQueueV1beta1(queue)
		c.queues.Items = append(c.queues.Items, object)
	}
}

func podGroup(name, queue string, pods int, phase upstreamv1beta1.PodGroupPhase, priority string) *upstreamv1beta1.PodGroup {
	group := util.BuildPodGroupWithPrio(name, "ns", queue, int32(pods), nil, phase, priority)
	group.UID = types.UID("group-" + name)
	return group
}

// pod returns a pod that asks for devices. If it has a node, it has the devices there, from the given one on.
func (c *fullCluster) pod(b *testing.B, name, group, node string, first, devices int) *corev1.Pod {
	b.Helper()
	phase, requests := corev1.PodRunning, api.BuildResourceList("1", "1Gi")
	if node == "" {
		phase = corev1.PodPending
	}
	if !c.claims {
		requests = api.BuildResourceList("1", "1Gi", api.ScalarResource{Name: gpuResource, Value: fmt.Sprint(devices)})
	}
	pod := util.BuildPod("ns", name, node, phase, requests, group, map[string]string{upstreamv1beta1.PodPreemptable: "true"}, nil)
	pod.Spec.SchedulerName = "volcano"
	pod.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0))
	if c.claims {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: ptr.To(name)}}
		c.create(b, claimOf(pod, first, devices))
	}
	return pod
}

func claimOf(pod *corev1.Pod, first, devices int) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: types.UID("claim-" + pod.Name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpus",
			Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: gpuClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(devices)}}}}},
	}
	node := pod.Spec.NodeName
	if node == "" {
		return claim
	}
	allocation := &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	for d := range devices {
		allocation.Devices.Results = append(allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Request: "gpus", Driver: gpuDriver, Pool: node, Device: fmt.Sprint("gpu-", first+d)})
	}
	claim.Status.Allocation = allocation
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	return claim
}

// ask adds jobs of so many pods, each of which asks for so many devices.
func (c *fullCluster) ask(b *testing.B, queue string, jobs, pods, devices int) {
	b.Helper()
	for j := range jobs {
		group := podGroup(fmt.Sprint("waiting-", j), queue, pods, upstreamv1beta1.PodGroupInqueue, topPriority)
		c.AddPodGroupV1beta1(group)
		for p := range pods {
			pod := c.pod(b, fmt.Sprintf("%s-%d", group.Name, p), group.Name, "", 0, devices)
			c.waiting = append(c.waiting, pod)
			c.AddPod(pod)
		}
	}
}

// askAnew replaces the pods that wait by others that ask for the same.
func (c *fullCluster) askAnew() {
	c.asked++
	c.evicted = 0
	for i, pod := range c.waiting {
		c.DeletePod(pod)
		c.waiting[i] = pod.DeepCopy()
		c.waiting[i].UID = types.UID(fmt.Sprintf("%s-%d", pod.Name, c.asked))
		c.waiting[i].Status.NominatedNodeName = ""
		c.AddPod(c.waiting[i])
	}
}

// await waits until the plugin has read everything.
func await(b *testing.B, ready func() error) {
	b.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return ready() == nil, nil })
	if err != nil {
		b.Fatal(ready())
	}
}
