// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("A gang with a network topology", Ordered, ContinueOnFailure, func() {
	BeforeAll(withTopologies)

	It("gets its devices in the one rack that has enough of them", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.uses(ctx, team, "a0", 1)
		watch := r.watchHolders()
		r.gang(ctx, "gang", team, 4, upToTier(1))
		r.expectIn(ctx, "gang", tally{"b": 4})
		expectAllocated(ctx, team, r.class+"/count", 5)
		r.expectDevicesOnce(ctx)
		Expect([]any{watch.shared(), watch.most(r.class)}).To(Equal([]any{[]string(nil), 5}), "no device was in a claim that did not keep it")
	})

	It("spreads no further than to its highest tier", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.gang(ctx, "rack", team, 5, upToTier(1))
		r.expectNone(ctx, "rack", 5)
		r.expectPodWarnings(ctx, "rack", 1, "NeverFits", "No HyperNode that the job may use has as many devices of <"+r.class+"> as its pods need together, <5>: the largest has <2> nodes, and no node has more than <2>")
		r.expectTopologyCheck(ctx, "rack", "As nodes and quotas are now, no HyperNode that the job may use can have more than <4> of its <5> waiting pods, and <"+r.name("a")+"> is the first that can")
		r.gang(ctx, "zone", team, 8, upToTier(2))
		r.deleteJob(ctx, "rack") // what it was admitted with counts until then
		r.expectIn(ctx, "zone", tally{"a": 4, "b": 4})
		expectAllocated(ctx, team, r.class+"/count", 8)
	})

	It("stays in one rack if it prefers that, and otherwise spreads", func(ctx context.Context) {
		r := racksOf(ctx, 3)
		team := r.queue(ctx, "team", "root", limit(r.class, 12))
		r.uses(ctx, team, "a0", 2)
		r.gang(ctx, "close", team, 3, closeTogether)
		r.expectRunning(ctx, "close", 3)
		r.expectOneRack(ctx, "close")
		r.gang(ctx, "apart", team, 7, closeTogether) // more than any rack has
		r.expectRunning(ctx, "apart", 7)
		expectAllocated(ctx, team, r.class+"/count", 12)
		r.expectDevicesOnce(ctx)
	})

	It("has each of its parts in one rack", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.gang(ctx, "gang", team, 8, upToTier(2), inParts(2, 4))
		r.expectParts(ctx, "gang", 4)
		expectAllocated(ctx, team, r.class+"/count", 8)
		r.expectDevicesOnce(ctx)
	})

	It("waits if one of its parts is larger than a rack, and says which", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.gang(ctx, "gang", team, 5, upToTier(2), inParts(1, 5))
		r.expectNone(ctx, "gang", 5)
		r.expectTopologyCheck(ctx, "gang", "As nodes and quotas are now, no HyperNode that the group <worker-0> may use can have more than <4> of its <5> waiting pods, and <"+r.name("a")+"> is the first that can")
	})

	It("gets the alternatives that its rack has, as far as the quota allows them", func(ctx context.Context) {
		r := newRacks(ctx, func(f *fixture, node string) {
			f.node(ctx, node, append(devices(1, "large", nil), devices(1, "small", nil)...)...)
		})
		large, small := r.model(ctx, "large"), r.model(ctx, "small")
		r.template(ctx, "gpu", firstAvailable(exactly(large, 1), exactly(small, 1)))
		team := r.queue(ctx, "team", "root", limits(capability(large, 1), capability(small, 8)))
		r.gang(ctx, "gang", team, 4, upToTier(1)) // a rack has two large and two small devices
		r.expectNone(ctx, "gang", 4)
		setQuota(ctx, team, limits(capability(large, 3), capability(small, 8)))
		r.expectRunning(ctx, "gang", 4)
		expectAllocated(ctx, team, large+"/count", 2, small+"/count", 2)
		r.expectOneRack(ctx, "gang")
		r.expectDevicesOnce(ctx)
	})

	It("waits as a whole for quota, and then gets its devices in one rack", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		org := r.queue(ctx, "org", "root", limit(r.class, 3))
		team := r.queue(ctx, "team", org, limit(r.class, 8))
		r.gang(ctx, "gang", team, 4, upToTier(1))
		r.expectNotEnqueued(ctx, "gang", "InsufficientScalarQuota", insufficient(org, r.class, 4, 4, 3))
		Expect(r.heldBy(ctx, "gang")).To(BeEmpty())
		setQuota(ctx, org, limit(r.class, 4))
		r.expectRunning(ctx, "gang", 4)
		r.expectOneRack(ctx, "gang")
		expectAllocated(ctx, org, r.class+"/count", 4)
	})

	It("grows in its rack as far as the quota allows", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 3))
		r.start(ctx, elastic("gang", team, 4, "gpu").startingWith(2), upToTier(1))
		r.expectRunning(ctx, "gang", 3)
		r.expectPodWarnings(ctx, "gang", 1, "InsufficientScalarQuota", insufficient(team, r.class, 1, 4, 3))
		setQuota(ctx, team, limit(r.class, 8))
		r.expectRunning(ctx, "gang", 4)
		r.expectOneRack(ctx, "gang")
		expectAllocated(ctx, team, r.class+"/count", 4)
	})

	It("gets a killed pod back in its rack, whoever schedules it", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.gang(ctx, "gang", team, 3, upToTier(1))
		r.expectRunning(ctx, "gang", 3)
		rack := r.expectOneRack(ctx, "gang")
		r.uses(ctx, team, otherRack[rack]+"0", 1, ofCPU("40")) // binpack prefers this node
		for kill := range 3 {
			if kill == 2 {
				killScheduler(ctx)
			}
			victim := r.pods(ctx, "gang")[kill]
			r.deletePod(ctx, victim.Name)
			Eventually(func() []corev1.Pod { return r.pods(ctx, "gang") }).WithContext(ctx).ShouldNot(ContainElement(HaveField("UID", victim.UID)))
			r.expectIn(ctx, "gang", tally{rack: 3})
			expectAllocated(ctx, team, r.class+"/count", 4)
		}
		r.expectDevicesOnce(ctx)
	})
})
