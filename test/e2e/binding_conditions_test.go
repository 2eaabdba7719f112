// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	attached = "fabric.example.com/Attached"
	broken   = "fabric.example.com/Broken"
)

// attachable makes the driver attach devices to a node after their allocation.
func attachable(devices []resourcev1.Device) []resourcev1.Device {
	for i := range devices {
		devices[i].BindsToNode = ptr.To(true)
		devices[i].BindingConditions, devices[i].BindingFailureConditions = []string{attached}, []string{broken}
	}
	return devices
}

// allocatedTo waits until a claim has a device that is not excluded, and returns the device.
func (f *fixture) allocatedTo(ctx context.Context, claim string, excluded ...string) string {
	GinkgoHelper()
	var device string
	Eventually(func(g Gomega) {
		now, err := kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, claim, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(now.Status.Allocation).NotTo(BeNil())
		g.Expect(now.Status.Allocation.AllocationTimestamp).NotTo(BeNil())
		device = now.Status.Allocation.Devices.Results[0].Device
		g.Expect(excluded).NotTo(ContainElement(device))
	}).WithContext(ctx).Should(Succeed())
	return device
}

// driverSays writes a condition of the device of a claim, as its driver does.
func (f *fixture) driverSays(ctx context.Context, claim, condition, message string) {
	GinkgoHelper()
	Eventually(func() error {
		now, err := kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, claim, metav1.GetOptions{})
		if err != nil {
			return err
		}
		device := now.Status.Allocation.Devices.Results[0]
		now.Status.Devices = []resourcev1.AllocatedDeviceStatus{{
			Driver: device.Driver, Pool: device.Pool, Device: device.Device,
			Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "Fabric", Message: message, LastTransitionTime: metav1.Now()}},
		}}
		_, err = kube.ResourceV1().ResourceClaims(f.namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

// expectPodPends waits until a pod has an event that it waits for its device, and checks that it has no node.
func (f *fixture) expectPodPends(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		events, err := kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=BindingConditionsPending,involvedObject.name=" + name})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(events.Items).NotTo(BeEmpty())
		g.Expect(events.Items[0].Type).To(Equal(corev1.EventTypeNormal))
		g.Expect(events.Items[0].Message).To(ContainSubstring("condition " + attached + " of device " + f.driver()))
	}).WithContext(ctx).Should(Succeed())
	pod := must(kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{}))
	Expect(pod.Spec.NodeName).To(BeEmpty())
}

var _ = Describe("A pod whose device has to be attached", func() {
	var (
		f     *fixture
		class string
		team  string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu")
		team = f.queue(ctx, "team", "root", limit(class, 1))
		f.node(ctx, "n", attachable(devices(2, "gpu", nil))...)
		f.claim(ctx, "first", exactly(class, 1))
	})

	It("waits for that, is charged meanwhile, and holds up nobody else", func(ctx context.Context) {
		f.pod(ctx, "waiting", team, using("first"))
		f.expectPodPends(ctx, "waiting")
		expectAllocated(ctx, team, class+"/count", 1)

		f.template(ctx, "gpu", exactly(class, 1))
		f.submit(ctx, gang("second", team, 1).fromTemplate("gpu"))
		f.expectNotEnqueued(ctx, "second", "InsufficientScalarQuota", insufficient(team, class, 1, 2, 1))
		others := f.queue(ctx, "others", "root", limit(f.class, 1))
		f.submit(ctx, gang("other", others, 1))
		f.expectRunning(ctx, "other", 1)

		f.driverSays(ctx, "first", attached, "port 7")
		f.expectPodRuns(ctx, "waiting")
		expectAllocated(ctx, team, class+"/count", 1)
	})

	It("gets another device when that fails", func(ctx context.Context) {
		f.pod(ctx, "waiting", team, using("first"))
		f.expectPodPends(ctx, "waiting")
		device := f.allocatedTo(ctx, "first")
		f.driverSays(ctx, "first", broken, "port 7 is dark")
		expectWarning(ctx, f.namespace, "Pod", "waiting", "DevicesNotReady", "condition "+broken+" of device "+f.driver()+"/"+f.name("n")+"/"+device+" (Fabric: port 7 is dark)")

		f.allocatedTo(ctx, "first", device)
		f.driverSays(ctx, "first", attached, "port 8")
		f.expectPodRuns(ctx, "waiting")
		expectAllocated(ctx, team, class+"/count", 1)
	})

	It("frees the device and the quota when it is deleted", func(ctx context.Context) {
		f.template(ctx, "gpu", exactly(class, 1))
		f.submit(ctx, gang("waiting", team, 1).fromTemplate("gpu"))
		Eventually(func() []corev1.Pod { return f.pods(ctx, "waiting") }).WithContext(ctx).Should(HaveLen(1))
		f.expectPodPends(ctx, f.pods(ctx, "waiting")[0].Name)
		f.deleteJob(ctx, "waiting")

		f.pod(ctx, "next", team, using("first"))
		f.expectPodPends(ctx, "next")
		f.driverSays(ctx, "first", attached, "port 7")
		f.expectPodRuns(ctx, "next")
		expectAllocated(ctx, team, class+"/count", 1)
	})

	It("goes on to wait when the scheduler is restarted", func(ctx context.Context) {
		f.pod(ctx, "waiting", team, using("first"))
		f.expectPodPends(ctx, "waiting")
		before := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "first", metav1.GetOptions{}))
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		expectAllocated(ctx, team, class+"/count", 1)
		waitForCycles(ctx)

		f.driverSays(ctx, "first", attached, "port 7")
		f.expectPodRuns(ctx, "waiting")
		after := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "first", metav1.GetOptions{}))
		Expect(after.Status.Allocation).To(Equal(before.Status.Allocation))
	})
})
