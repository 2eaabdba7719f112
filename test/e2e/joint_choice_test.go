// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// cardOf80Gi has the memory that the partitions of a card share.
var cardOf80Gi = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("80Gi")}}}}

// partition returns a device that takes a part of the memory of a card.
func partition(name, model, size string) resourcev1.Device {
	d := device(name, model, bytes(size))
	d.Attributes["size"] = resourcev1.DeviceAttribute{StringValue: ptr.To(size)}
	d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(size)}}}}
	return d
}

var _ = Describe("A gang whose pods do not fit one after another", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("gets halves of a GPU if its pods prefer the whole one", func(ctx context.Context) {
		whole, half := f.model(ctx, "whole"), f.model(ctx, "half")
		f.nodeWith(ctx, "n", cardOf80Gi, partition("all", "whole", "80Gi"), partition("half-0", "half", "40Gi"), partition("half-1", "half", "40Gi"))
		team := f.queue(ctx, "team", "root", limits(capability(whole, 2), capability(half, 2)))
		f.template(ctx, "either", firstAvailable(exactly(whole, 1), exactly(half, 1)))

		By("waiting without a device if there are not enough halves")
		f.submit(ctx, gang("three", team, 3).fromTemplate("either"))
		f.expectPodWarnings(ctx, "three", 1, "InsufficientDevices", "")
		expectAllocated(ctx, team)
		f.deleteJob(ctx, "three")

		f.submit(ctx, gang("two", team, 2).fromTemplate("either"))
		f.expectRunning(ctx, "two", 2)
		expectAllocated(ctx, team, half+"/count", 2)
	})

	It("leaves the quota of a class to its pod that can have no other class", func(ctx context.Context) {
		large, small := f.model(ctx, "large"), f.model(ctx, "small")
		f.node(ctx, "n", append(devices(2, "large", nil), devices(2, "small", nil)...)...)
		team := f.queue(ctx, "team", "root", limits(capability(large, 1), capability(small, 2)))
		f.template(ctx, "either", firstAvailable(exactly(large, 1), exactly(small, 1)))
		f.template(ctx, "large", exactly(large, 1))
		job := f.jobOf(gang("gang", team, 1).fromTemplate("either"))
		other := f.jobOf(gang("other", team, 1).fromTemplate("large")).Spec.Tasks[0]
		job.Spec.MinAvailable, other.Name = 2, "other"
		job.Spec.Tasks = append(job.Spec.Tasks, other)
		must(vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, job, metav1.CreateOptions{}))
		f.expectRunning(ctx, "gang", 2)
		expectAllocated(ctx, team, large+"/count", 1, small+"/count", 1)
	})

	It("gets partitions of one card if other cards come first", func(ctx context.Context) {
		class := f.model(ctx, "mig")
		parts := []resourcev1.Device{partition("other", "mig", "10Gi")}
		parts[0].ConsumesCounters = nil
		for i := range 2 {
			parts = append(parts, partition(fmt.Sprint("half-", i), "mig", "40Gi"))
		}
		for i := range parts {
			parts[i].Attributes["card"] = resourcev1.DeviceAttribute{StringValue: ptr.To(fmt.Sprint(min(i, 1)))}
		}
		f.nodeWith(ctx, "n", cardOf80Gi, parts...)
		team := f.queue(ctx, "team", "root", limit(class, 2))
		alike := asking(exactly(class, 2))
		alike.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName(f.driver() + "/card"))}}
		must(kube.ResourceV1().ResourceClaimTemplates(f.namespace).Create(ctx, &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "alike"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: alike},
		}, metav1.CreateOptions{}))
		f.submit(ctx, gang("gang", team, 1).fromTemplate("alike"))
		f.expectRunning(ctx, "gang", 1)
		expectAllocated(ctx, team, class+"/count", 2)
	})
})

var _ = Describe("A gang with a network topology whose pods do not fit one after another", Ordered, ContinueOnFailure, func() {
	BeforeAll(withTopologies)

	It("gets the halves of the GPUs of one rack", func(ctx context.Context) {
		r := newRacks(ctx, func(f *fixture, node string) {
			f.nodeWith(ctx, node, cardOf80Gi, partition("all", "whole", "80Gi"), partition("half-0", "half", "40Gi"), partition("half-1", "half", "40Gi"))
		})
		whole, half := r.model(ctx, "whole"), r.model(ctx, "half")
		team := r.queue(ctx, "team", "root", limits(capability(whole, 8), capability(half, 8)))
		r.template(ctx, "gpu", firstAvailable(exactly(whole, 1), exactly(half, 1)))

		By("waiting without a device if no rack has enough")
		r.gang(ctx, "five", team, 5, upToTier(1))
		r.expectNone(ctx, "five", 5)
		expectAllocated(ctx, team)
		r.deleteJob(ctx, "five")

		r.gang(ctx, "four", team, 4, upToTier(1))
		r.expectRunning(ctx, "four", 4)
		expectAllocated(ctx, team, half+"/count", 4)
		r.deleteJob(ctx, "four")

		By("having one rack for each part of a job")
		r.gang(ctx, "parts", team, 8, inParts(2, 4))
		r.expectRunning(ctx, "parts", 8)
		expectAllocated(ctx, team, half+"/count", 8)
		r.expectDevicesOnce(ctx)
	})
})
