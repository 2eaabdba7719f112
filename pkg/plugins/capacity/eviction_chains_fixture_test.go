// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// newCalmCluster returns a cluster that lives through sessions, like the cluster of FuzzSessions, but without random events.
// It has the queue root, and a template for each class that asks for one device.
func newCalmCluster(t *testing.T, classes ...string) *fuzzCluster {
	c := newFuzzCluster(t, newFuzzInput(make([]byte, 1<<20)), false)
	t.Cleanup(func() {
		c.shutdown()
		framework.CleanupPluginBuilders()
		logged.take()
	})
	logged.take()
	c.queue("root", "", schedulingv1beta1.DRAQuota{}, nil)
	for _, class := range classes {
		c.addClass(class)
		c.put("resourceclaimtemplates", &resourcev1.ResourceClaimTemplate{ObjectMeta: c.meta(class, "ns"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: oneOf(class)}})
	}
	return c
}

func oneOf(class string) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}}}
}

// queue adds or changes an open queue that others may take back from.
func (c *fuzzCluster) queue(name, parent string, dra schedulingv1beta1.DRAQuota, change func(*schedulingv1beta1.QueueSpec)) {
	q := &schedulingv1beta1.Queue{ObjectMeta: c.meta(name, "")}
	q.Spec.Weight, q.Spec.Parent, q.Spec.Reclaimable, q.Spec.DRA = 1, parent, ptr.To(true), &dra
	q.Status.State = upstreamv1beta1.QueueStateOpen
	if change != nil {
		change(&q.Spec)
	}
	c.putQueue(q)
}

// node adds a ready node with cores, and devices of these models.
func (c *fuzzCluster) node(name string, cores int, models ...string) {
	node := &corev1.Node{ObjectMeta: c.meta(name, "")}
	node.Status.Allocatable = newFixture(cores).Nodes[0].Status.Allocatable
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	c.putNode(node)
	spec := resourcev1.ResourceSliceSpec{Driver: fuzzDriver, NodeName: ptr.To(name), Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}
	for i, model := range models {
		spec.Devices = append(spec.Devices, resourcev1.Device{
			Name: fmt.Sprint(model, "-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
		})
	}
	c.put("resourceslices", &resourcev1.ResourceSlice{ObjectMeta: c.meta(name, ""), Spec: spec})
}

// group adds a job with a minimum number of pods.
func (c *fuzzCluster) group(name, queue string, minimum int32, change func(*upstreamv1beta1.PodGroup)) {
	group := &upstreamv1beta1.PodGroup{ObjectMeta: c.meta(name, "ns")}
	group.Spec.Queue, group.Spec.MinMember, group.Status.Phase = queue, minimum, upstreamv1beta1.PodGroupInqueue
	if change != nil {
		change(group)
	}
	c.putGroup(group)
}

// pod adds a pod to a job. It asks for a core, and a device of each class.
func (c *fuzzCluster) pod(name, group string, change func(*corev1.Pod), classes ...string) {
	pod := newPod(name, "", cpu(1))
	pod.ObjectMeta = c.meta(name, "ns")
	pod.Labels[upstreamv1beta1.PodPreemptable] = "true"
	pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = group
	pod.Spec.SchedulerName = "volcano"
	for _, class := range classes {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: class, ResourceClaimTemplateName: ptr.To(class)})
	}
	if change != nil {
		change(pod)
	}
	c.putPod(pod)
	c.createClaims(pod)
}

// single adds a job with one pod.
func (c *fuzzCluster) single(name, queue string, classes ...string) {
	c.only(name, queue, nil, classes...)
}

// only is single with a change of the pod.
func (c *fuzzCluster) only(name, queue string, change func(*corev1.Pod), classes ...string) {
	c.group(name, queue, 1, nil)
	c.pod(name, name, change, classes...)
}

// leave ends the terminating pods, and lets controllers do their work.
func (c *fuzzCluster) leave() {
	for _, pod := range slices.Clone(c.pods) {
		if pod.DeletionTimestamp != nil {
			c.deletePod(pod)
		}
	}
	c.control()
}

// turn runs a session, and then the controllers.
func (c *fuzzCluster) turn() {
	c.evictedFor = nil // tests change things in between
	c.session()
	c.control()
}

// places returns the places of pods, sorted by name. Terminating pods have an x.
func (c *fuzzCluster) places() string {
	var all []string
	for _, pod := range c.pods {
		place := pod.Name + "@" + pod.Spec.NodeName
		if pod.DeletionTimestamp != nil {
			place += "x"
		}
		all = append(all, place)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (c *fuzzCluster) expectPlaces(want string) {
	c.Helper()
	if got := c.places(); got != want {
		c.fail("pods are %s, want %s", got, want)
	}
}

// expectTurn runs a session and the controllers, and compares where pods are then.
func (c *fuzzCluster) expectTurn(want string) {
	c.Helper()
	c.turn()
	c.expectPlaces(want)
}

func deserve(class string, n int64) schedulingv1beta1.DRAQuota {
	return schedulingv1beta1.DRAQuota{Deserved: schedulingv1beta1.DeviceQuotas{class: {Count: n}}}
}

// edit changes a pod as a user does.
func (c *fuzzCluster) edit(name string, change func(*corev1.Pod)) {
	pod := c.pods.named(name).DeepCopy()
	change(pod)
	c.putPod(pod)
}

func (c *fuzzCluster) editGroup(name string, change func(*upstreamv1beta1.PodGroup)) {
	group := c.groups.named(name).DeepCopy()
	change(group)
	c.putGroup(group)
}

func (c *fuzzCluster) editNode(name string, change func(*corev1.Node)) {
	node := c.nodes.named(name).DeepCopy()
	change(node)
	c.putNode(node)
}

// lent is a calm cluster in which queue q deserves the devices of node n1. Pods of queue lender hold one each.
func lent(t *testing.T, lender func(*schedulingv1beta1.QueueSpec), pods ...string) *fuzzCluster {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", int64(len(pods))), nil)
	c.queue("lender", "root", deserve("h100", 0), lender)
	c.node("n1", 8, slices.Repeat([]string{"h100"}, len(pods))...)
	for _, name := range pods {
		c.single(name, "lender", "h100")
	}
	c.turn()
	return c
}

// important makes the pods of a queue come before those of other queues.
func important(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 }
