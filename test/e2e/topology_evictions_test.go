// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// contested is a zone of racks whose eight devices two queues deserve in equal parts.
type contested struct {
	*racks
	scene        *scene
	ours, theirs string
}

func contestedIn(r *racks) *contested {
	return &contested{racks: r, scene: &scene{fixture: r.fixture, record: recordPods(r.namespace), asked: tally{}}}
}

func newContested(ctx context.Context) *contested {
	r := racksOf(ctx, 2)
	c := contestedIn(r)
	c.ours, c.theirs = c.scene.oursAndTheirs(ctx, "root", 4, 4)
	return c
}

// hold makes independent pods run on a node.
func (c *contested) hold(ctx context.Context, queue, node string, n int, options ...podOption) {
	GinkgoHelper()
	c.scene.singles(ctx, node, queue, n, append(options, claiming("gpu"), c.scene.onNode(node))...)
	Eventually(func() int { return c.scene.record.outcome().running[node] }).WithContext(ctx).Should(Equal(n), "running pods on node %s", node)
}

// unevictable keeps pods from being evicted.
func unevictable(p *corev1.PodTemplateSpec) { p.Annotations["volcano.sh/preemptable"] = "false" }

// expectEvicted checks, after some cycles, which pods have been evicted, by the node on which they ran.
func (c *contested) expectEvicted(ctx context.Context, want tally) {
	GinkgoHelper()
	waitForCycles(ctx)
	Expect(c.scene.record.evicted()).To(Equal(want), "evicted pods, by node: %s", c.scene.record.describe())
	c.expectDevicesOnce(ctx)
}

var _ = Describe("A gang with a network topology", Ordered, ContinueOnFailure, func() {
	BeforeAll(withTopologies)

	It("takes back devices of the one rack in which the victims are the cheapest", func(ctx context.Context) {
		c := newContested(ctx)
		low, high := c.scene.priorities(ctx)
		c.hold(ctx, c.theirs, "a0", 2, ofPriority(high))
		c.hold(ctx, c.theirs, "a1", 2, ofPriority(low))
		c.hold(ctx, c.theirs, "b0", 2, ofPriority(low))
		c.hold(ctx, c.theirs, "b1", 2, ofPriority(low))
		c.gang(ctx, "gang", c.ours, 4, upToTier(1))
		c.expectIn(ctx, "gang", tally{"b": 4})
		c.expectEvicted(ctx, tally{"b0": 2, "b1": 2})
		expectAllocated(ctx, c.ours, c.class+"/count", 4)
		expectAllocated(ctx, c.theirs, c.class+"/count", 4)
	})

	It("takes back as few devices as one rack lacks, and waits for them there", func(ctx context.Context) {
		c := newContested(ctx)
		c.hold(ctx, c.theirs, "a0", 2, slowly)
		c.hold(ctx, c.theirs, "a1", 2, slowly)
		c.hold(ctx, c.theirs, "b1", 1, slowly)
		c.gang(ctx, "gang", c.ours, 4, upToTier(1))
		c.expectIn(ctx, "gang", tally{"b": 4})
		c.expectEvicted(ctx, tally{"b1": 1})
	})

	It("takes back devices of several racks if its highest tier has them", func(ctx context.Context) {
		c := newContested(ctx)
		c.hold(ctx, c.theirs, "a0", 2)
		c.hold(ctx, c.theirs, "a1", 1)
		c.hold(ctx, c.theirs, "b0", 2)
		c.hold(ctx, c.theirs, "b1", 2)
		c.gang(ctx, "gang", c.ours, 4, upToTier(2)) // theirs may lose three, and one is free
		c.expectRunning(ctx, "gang", 4)
		waitForCycles(ctx)
		Expect(c.scene.record.evicted().sum()).To(Equal(3), "evicted pods: %s", c.scene.record.describe())
		expectAllocated(ctx, c.ours, c.class+"/count", 4)
	})

	It("evicts nobody if no rack can have all of it", func(ctx context.Context) {
		c := newContested(ctx)
		c.hold(ctx, c.theirs, "a0", 2)
		c.hold(ctx, c.theirs, "a1", 2)
		c.hold(ctx, c.theirs, "b0", 1)
		c.patchNode(ctx, "b1", `{"spec":{"unschedulable":true}}`)
		c.gang(ctx, "gang", c.ours, 3, upToTier(1)) // theirs may lose one
		c.expectNone(ctx, "gang", 3)
		c.expectEvicted(ctx, tally{})
		c.expectPodWarnings(ctx, "gang", 1, "InsufficientDevices", "No HyperNode that the job may use has enough free devices of "+c.class+" on suitable nodes")
		expectWarning(ctx, "", "Queue", c.ours, "CannotReclaim", "no HyperNode that the job may use has what all its pods ask for, even without the pods that may be evicted")
	})

	It("takes back a device in the rack in which it runs already", func(ctx context.Context) {
		c := newContested(ctx)
		c.gang(ctx, "gang", c.ours, 3, upToTier(1))
		c.expectRunning(ctx, "gang", 3)
		rack := c.expectOneRack(ctx, "gang")
		on := tally{}
		for _, pod := range c.pods(ctx, "gang") {
			on[pod.Spec.NodeName]++
		}
		with, other := rack+"0", map[string]string{"a": "b", "b": "a"}[rack]
		if on[c.name(with)] == 2 {
			with = rack + "1"
		}
		c.hold(ctx, c.theirs, other+"0", 2)
		c.hold(ctx, c.theirs, other+"1", 2)
		c.hold(ctx, c.theirs, with, 1)
		grown := []byte(`[{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 4}]`)
		must(vc.BatchV1alpha1().Jobs(c.namespace).Patch(ctx, "gang", types.JSONPatchType, grown, metav1.PatchOptions{}))
		c.expectIn(ctx, "gang", tally{rack: 4})
		c.expectEvicted(ctx, tally{with: 1})
	})

	It("takes back devices in a rack for each of its parts, and waits for them there", func(ctx context.Context) {
		c := newContested(ctx)
		for node, n := range map[string]int{"a0": 2, "a1": 1, "b0": 2, "b1": 1} { // theirs may lose two
			c.hold(ctx, c.theirs, node, n, slowly)
		}
		c.gang(ctx, "gang", c.ours, 4, inParts(2, 2))
		c.expectParts(ctx, "gang", 2)
		waitForCycles(ctx)
		Expect(c.scene.record.evicted().sum()).To(Equal(2), "evicted pods: %s", c.scene.record.describe())
	})

	It("evicts nobody if one of its parts gets no rack", func(ctx context.Context) {
		c := newContested(ctx)
		c.hold(ctx, c.theirs, "a0", 2)
		c.hold(ctx, c.theirs, "a1", 2)
		c.hold(ctx, c.theirs, "b0", 2)
		c.patchNode(ctx, "b1", `{"spec":{"unschedulable":true}}`)
		c.gang(ctx, "gang", c.ours, 4, inParts(2, 2)) // theirs may lose two
		c.expectNone(ctx, "gang", 4)
		c.expectEvicted(ctx, tally{})
	})

	It("preempts pods of its queue in one rack", func(ctx context.Context) {
		c := newContested(ctx)
		low, high := c.scene.priorities(ctx)
		c.hold(ctx, c.ours, "a0", 2, ofPriority(low))
		c.hold(ctx, c.ours, "b0", 1, ofPriority(low))
		c.hold(ctx, c.ours, "a1", 2, ofPriority(low))
		c.hold(ctx, c.ours, "b1", 2, ofPriority(low))
		c.start(ctx, gang("gang", c.ours, 4).fromTemplate("gpu").withPriority(high), upToTier(1))
		c.expectIn(ctx, "gang", tally{"b": 4})
		c.expectEvicted(ctx, tally{"b0": 1, "b1": 2})
	})
})

// With gangEvictions, the rules hold for jobs without devices.
var _ = Describe("A gang of pods without devices", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) { useTopologies(ctx, "gangEvictions: true") })

	newContested := func(ctx context.Context, ours, theirs string) *contested {
		r := newRacks(ctx, func(f *fixture, node string) { f.node(ctx, node) })
		c := contestedIn(r)
		c.ours = c.newQueue(ctx, "ours", "root", deservesResources(ours, "1Ti"))
		c.theirs = c.newQueue(ctx, "theirs", "root", deservesResources(theirs, "1Ti"))
		return c
	}
	hold := func(ctx context.Context, c *contested, node string, n int, options ...podOption) {
		GinkgoHelper()
		c.scene.singles(ctx, node, c.theirs, n, append(options, requests(corev1.ResourceCPU, "32"), c.scene.onNode(node))...)
		Eventually(func() int { return c.scene.record.outcome().running[node] }).WithContext(ctx).Should(Equal(n), "running pods on node %s", node)
	}

	It("takes back the cores of one rack", func(ctx context.Context) {
		c := newContested(ctx, "128", "128")
		low, high := c.scene.priorities(ctx)
		hold(ctx, c, "a0", 2, ofPriority(low))
		hold(ctx, c, "a1", 2, ofPriority(high))
		hold(ctx, c, "b0", 2, ofPriority(low))
		hold(ctx, c, "b1", 2, ofPriority(low))
		c.start(ctx, gang("gang", c.ours, 4), withoutDevices("32"), upToTier(1))
		c.expectIn(ctx, "gang", tally{"b": 4})
		c.expectEvicted(ctx, tally{"b0": 2, "b1": 2})
	})

	It("takes back the cores of a further pod in the rack in which the others wait for pods that leave", func(ctx context.Context) {
		c := newContested(ctx, "128", "128")
		hold(ctx, c, "a0", 2)
		hold(ctx, c, "a1", 2)
		hold(ctx, c, "b0", 2, ending(30))
		hold(ctx, c, "b1", 2, ending(30), unevictable)
		for _, pod := range []string{"b0-0", "b0-1", "b1-0"} {
			Expect(kube.CoreV1().Pods(c.namespace).Delete(ctx, pod, metav1.DeleteOptions{})).To(Succeed())
		}
		c.start(ctx, gang("gang", c.ours, 4).fromTemplate("").startingWith(3), ofCPU("32"), upToTier(1))
		Eventually(func() int { return c.phase(ctx, "gang", corev1.PodPending) }).WithContext(ctx).Should(Equal(4), "pending pods")
		c.expectEvicted(ctx, tally{"b0": 2, "b1": 1}) // by this spec
	})

	It("takes nothing back if it cannot start", func(ctx context.Context) {
		c := newContested(ctx, "128", "192")
		for _, node := range []string{"a0", "a1", "b0", "b1"} {
			hold(ctx, c, node, 2)
		}
		c.start(ctx, gang("gang", c.ours, 3), withoutDevices("32"), upToTier(2)) // theirs may lose two
		c.expectNone(ctx, "gang", 3)
		c.expectEvicted(ctx, tally{})
	})
})
