// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const scalar = "InsufficientScalarQuota"

// deviceScenarios are about DRA devices and cards.
var deviceScenarios = []scenario{
	{
		name: "a job with DRA devices waits for the quota, and takes its claim template to its member",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withDevices(deviceClass, 2, nil))
			f.template(ctx, "one", 1)
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2, claimTemplate: "one", in: east})
			f.expectRunningIn(ctx, east, "first", 2)
			f.expectDevices(ctx, east, 2)
			f.volcanoJob(ctx, workload{name: "second", queue: team, pods: 1, claimTemplate: "one", in: west})
			f.expectHeld(ctx, volcanoJobs, "second", scalar, insufficient(team, deviceClass, 1, 3, 2))
			f.finish(ctx, "first")
			f.expectRunningIn(ctx, west, "second", 1)
			f.expectDevices(ctx, west, 1)
		},
	},
	{
		name: "a claim template that takes the place of another one gives nobody more devices than were granted",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withDevices(deviceClass, 1, nil))
			f.template(ctx, "one", 1)
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1, claimTemplate: "one", in: east})
			f.expectRunningIn(ctx, east, "web", 1)
			templates := hub.kube.ResourceV1().ResourceClaimTemplates(f.namespace)
			first, err := templates.Get(ctx, "one", metav1.GetOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			more := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: first.Labels}, Spec: *first.Spec.DeepCopy()}
			more.Spec.Spec.Devices.Requests[0].Exactly.Count = 2
			expectRefused := func(why string) {
				GinkgoHelper()
				f.Expect(templates.Delete(ctx, "one", metav1.DeleteOptions{})).To(Succeed())
				_, err = templates.Create(ctx, more.DeepCopy(), metav1.CreateOptions{})
				f.Expect(err).To(MatchError(ContainSubstring(why)))
			}
			expectRefused("is named by Deployment web, which would need more than its queue has granted: 1 of " + deviceClass + " more")
			f.template(ctx, "one", 1)
			f.template(ctx, "other", 2)

			By("refusing what pods in a member still name, while their workload waits for room to name another one")
			f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.ResourceClaims[0].ResourceClaimTemplateName = ptr.To("other")
			})
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", team, deviceClass)
			expectRefused("takes the place of another one that pods of Deployment web may name")
		},
	},
	{
		name: "the capacity that claims ask for counts, too",
		run: func(ctx context.Context, f *fixture) {
			class := f.deviceClass(ctx, "h100", "gpu.example.com")
			team := f.queue(ctx, "team", "root", withDevices(class, 8, map[string]string{"memory": "60Gi"}))
			f.claimTemplate(ctx, "large", resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: class, Count: 1, Capacity: &resourcev1.CapacityRequirements{
					Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("40Gi")},
				},
			}})
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 1, claimTemplate: "large"})
			f.expectRunning(ctx, "first", 1)
			f.volcanoJob(ctx, workload{name: "second", queue: team, pods: 1, claimTemplate: "large"})
			f.expectHeld(ctx, volcanoJobs, "second", scalar, team, class, "memory", "<40GiB>", "<80GiB>", "<60GiB>")
			f.finish(ctx, "first")
			f.expectRunning(ctx, "second", 1)
		},
	},
	{
		name: "a capacity that another queue limits need not be named",
		run: func(ctx context.Context, f *fixture) {
			class := f.deviceClass(ctx, "h100", "gpu.example.com")
			f.queue(ctx, "strict", "root", withDevices(class, 8, map[string]string{"memory": "60Gi"}))
			team := f.queue(ctx, "team", "root", withDevices(class, 1, nil))
			f.claimTemplate(ctx, "one", resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: 1}})
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 1, claimTemplate: "one"})
			f.expectRunning(ctx, "train", 1)
		},
	},
	{
		name: "of alternative devices each counts, because the member chooses",
		run: func(ctx context.Context, f *fixture) {
			other := f.deviceClass(ctx, "b200", "other.example.com")
			team := f.queue(ctx, "team", "root", withDevices(other, 1, nil))
			f.claimTemplate(ctx, "either", resourcev1.DeviceRequest{Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{
				{Name: "new", DeviceClassName: other, Count: 1}, {Name: "old", DeviceClassName: deviceClass, Count: 1},
			}})
			f.volcanoJob(ctx, workload{name: "two", queue: team, pods: 2, claimTemplate: "either"})
			f.expectHeld(ctx, volcanoJobs, "two", "NeverFits", team, other, "<2>", "<1>")
			f.changeQueue(ctx, team, withDevices(other, 2, nil))
			f.expectReleased(ctx, "two")
		},
	},
	{
		name: "a job with cards of a device plugin waits for the card quota",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withCards(`{"NVIDIA-H100-80GB": 3}`))
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2, requests: cards(1), cards: card, in: east})
			f.expectRunningIn(ctx, east, "first", 2)
			f.deployment(ctx, workload{name: "second", queue: team, pods: 1, requests: cards(2), cards: card, in: west})
			f.expectHeld(ctx, deployments, "second", scalar, insufficient(team, card, 2, 4, 3))
			f.finish(ctx, "first")
			f.expectRunningIn(ctx, west, "second", 1)
		},
	},
	{
		name: "of alternative cards each counts, because the member chooses",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withCards(`{"NVIDIA-H100-80GB": 4, "NVIDIA-A100-80GB": 1}`))
			f.volcanoJob(ctx, workload{name: "two", queue: team, pods: 2, requests: cards(1), cards: card + "|NVIDIA-A100-80GB"})
			f.expectHeld(ctx, volcanoJobs, "two", "NeverFits", team, "NVIDIA-A100-80GB", "<2>", "<1>")
			f.changeQueue(ctx, team, withCards(`{"NVIDIA-H100-80GB": 4, "NVIDIA-A100-80GB": 2}`))
			f.expectRunning(ctx, "two", 2)
		},
	},
	{
		name: "pods that name no card count for every card that their resource may stand for",
		run: func(ctx context.Context, f *fixture) {
			// No other queue lists a card of this resource. No member has these cards, so the pods wait there.
			const npus, ascend = "huawei.com/Ascend910", "Ascend-910B"
			requests := cores("1")
			requests[npus] = resource.MustParse("1")
			team := f.queue(ctx, "team", "root", withCards(`{"Ascend-910B": 2}`))
			f.volcanoJob(ctx, workload{name: "named", queue: team, pods: 2, requests: requests, cards: ascend})
			f.expectReleased(ctx, "named")
			f.volcanoJob(ctx, workload{name: "nameless", queue: team, pods: 1, requests: requests})
			f.expectHeld(ctx, volcanoJobs, "nameless", scalar, insufficient(team, ascend, 1, 3, 2))
			f.remove(ctx, volcanoJobs, "named")
			f.expectReleased(ctx, "named", "nameless")
		},
	},
	{
		name: "cards that a queue with a card quota does not list are not for it",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withCards(`{"NVIDIA-A100-80GB": 2}`))
			f.volcanoJob(ctx, workload{name: "foreign", queue: team, pods: 1, requests: cards(1), cards: card})
			f.expectHeld(ctx, volcanoJobs, "foreign", "NeverFits", team, card)
			f.changeQueue(ctx, team, withCards(`{"NVIDIA-H100-80GB": 1}`))
			f.expectRunning(ctx, "foreign", 1)
		},
	},
}

// cards returns requests for a number of cards and one core.
func cards(n int64) corev1.ResourceList {
	requests := cores("1")
	requests[cardResource] = *resource.NewQuantity(n, resource.DecimalSI)
	return requests
}

// deviceClass creates a class for the devices of a driver. The driver in testdata is gpu.example.com.
func (f *fixture) deviceClass(ctx context.Context, name, driver string) string {
	GinkgoHelper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: f.name(name)}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}}
	for _, c := range []clients{hub, members[east], members[west]} {
		_, err := c.kube.ResourceV1().DeviceClasses().Create(ctx, class.DeepCopy(), metav1.CreateOptions{})
		f.Expect(err).NotTo(HaveOccurred())
	}
	return class.Name
}

func (f *fixture) claimTemplate(ctx context.Context, name string, requests ...resourcev1.DeviceRequest) {
	GinkgoHelper()
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	template.Spec.Spec.Devices.Requests = requests
	_, err := hub.kube.ResourceV1().ResourceClaimTemplates(f.namespace).Create(ctx, template, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// expectDevices waits until claims of the case have n devices of a member.
func (f *fixture) expectDevices(ctx context.Context, member string, n int) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		claims, err := members[member].kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		devices := 0
		for _, c := range claims.Items {
			if c.Status.Allocation != nil {
				devices += len(c.Status.Allocation.Devices.Results)
			}
		}
		g.Expect(devices).To(Equal(n), "devices in member %s", member)
	}).WithContext(ctx).Should(Succeed())
}
