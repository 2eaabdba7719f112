// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A gang with a network topology", Ordered, ContinueOnFailure, func() {
	BeforeAll(withTopologies)

	It("goes to the rack whose devices its quota allows", func(ctx context.Context) {
		r := newRacks(ctx, func(f *fixture, node string) { f.node(ctx, node, devices(2, modelIn(node), nil)...) })
		old, recent := r.model(ctx, "old"), r.model(ctx, "recent")
		r.template(ctx, "gpu", firstAvailable(exactly(recent, 1), exactly(old, 1)))
		team := r.queue(ctx, "team", "root", limits(capability(recent, 3), capability(old, 4)))
		r.gang(ctx, "gang", team, 4, upToTier(1))
		r.expectIn(ctx, "gang", tally{"b": 4})
		expectAllocated(ctx, team, old+"/count", 4)

		By("waiting if the quota allows the devices of no rack, although it allows enough devices")
		r.deleteJob(ctx, "gang")
		r.expectClaims(ctx, 0)
		setQuota(ctx, team, limits(capability(recent, 3), capability(old, 3)))
		r.gang(ctx, "next", team, 4, upToTier(1))
		r.expectNone(ctx, "next", 4)
		setQuota(ctx, team, limits(capability(recent, 4), capability(old, 3)))
		r.expectIn(ctx, "next", tally{"a": 4})
		expectAllocated(ctx, team, recent+"/count", 4)
		r.expectDevicesOnce(ctx)
	})

	It("gets the cards of one rack, if its quota allows them", func(ctx context.Context) {
		r := newRacks(ctx, func(f *fixture, node string) {
			f.gpuNode(ctx, node, map[string]string{"a": a100, "b": h100}[node[:1]], 2)
		})
		team := r.cardQueue(ctx, "team", "root", fmt.Sprintf(`{%q: 3, %q: 3}`, a100, h100))
		task := cardTask{pods: 4, names: a100 + "|" + h100}
		r.cardJobWith(ctx, "gang", team, upToTier(1), task)
		r.expectNone(ctx, "gang", 4)
		Expect(cardAccount(ctx, team, "allocated")).To(BeEmpty())

		setCards(ctx, team, fmt.Sprintf(`{%q: 3, %q: 4}`, a100, h100))
		r.expectIn(ctx, "gang", tally{"b": 4})
		expectCards(ctx, team, h100+"=4")
		r.cardJobWith(ctx, "more", team, upToTier(1), cardTask{pods: 3, names: a100})
		r.expectIn(ctx, "more", tally{"a": 3})
		expectCards(ctx, team, h100+"=4", a100+"=3")
	})

	It("gets devices of a class through an extended resource in one rack", func(ctx context.Context) {
		r := newRacks(ctx, func(f *fixture, node string) { f.node(ctx, node, devices(2, "gpu", nil)...) })
		class := r.model(ctx, "gpu", offering(r.gpu()))
		team := r.queue(ctx, "team", "root", limit(class, 8))
		task := cardTask{resource: r.gpu()}
		r.cardJob(ctx, "single", team, task)
		r.expectRunning(ctx, "single", 1)
		taken := r.expectOneRack(ctx, "single")
		task.pods = 4
		r.cardJobWith(ctx, "gang", team, upToTier(1), task)
		r.expectIn(ctx, "gang", tally{otherRack[taken]: 4})
		expectAllocated(ctx, team, class+"/count", 5)
		r.cardJobWith(ctx, "waits", team, upToTier(1), cardTask{resource: r.gpu(), count: 3}) // no node has three
		r.expectNone(ctx, "waits", 1)
		expectAllocated(ctx, team, class+"/count", 5)
		r.expectClaims(ctx, 5)
		r.expectDevicesOnce(ctx)
	})

	It("shares a claim with a device of the rack that has room for all of its pods", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		for _, node := range []string{"a0", "a1", "b0"} {
			r.uses(ctx, team, node, 1, ofCPU("20"))
		}
		r.claim(ctx, "shared", exactly(r.class, 1))
		watch := r.watchHolders()
		r.start(ctx, gang("gang", team, 2).usingClaim("shared"), ofCPU("32"), upToTier(1)) // 64 cores are free on b1 only
		r.expectRunning(ctx, "gang", 2)
		for _, pod := range r.pods(ctx, "gang") {
			Expect(pod.Spec.NodeName).To(Equal(r.name("b1")), "node of pod %s", pod.Name)
		}
		expectAllocated(ctx, team, r.class+"/count", 4)
		Expect(watch.most(r.class)).To(Equal(4), "devices in use at the same time")
	})

	It("leaves a claim that it shares without a device if it fits nowhere", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.uses(ctx, team, "a0", 1)
		claim := r.claim(ctx, "shared", exactly(r.class, 1))
		Eventually(func() int64 { return getQueue(ctx, team).Status.Allocated.Cpu().Value() }).WithContext(ctx).Should(Equal(int64(1)))
		watch := r.watchHolders()
		r.expectUnchanged(ctx, team,
			func() {
				r.start(ctx, gang("gang", team, 2).usingClaim("shared"), ofCPU("40"), upToTier(1)) // no node has 80 cores
				r.expectNone(ctx, "gang", 2)
			},
			func() { r.deleteJob(ctx, "gang") })
		Expect(watch.most(r.class)).To(Equal(1), "devices in use at the same time")
		Expect(deviceNames(claim)).To(BeEmpty())
	})

	It("frees its racks for the next one", func(ctx context.Context) {
		r := racksOf(ctx, 2)
		team := r.queue(ctx, "team", "root", limit(r.class, 8))
		r.gang(ctx, "zone", team, 8, upToTier(2), inParts(2, 4))
		r.expectRunning(ctx, "zone", 8)
		r.gang(ctx, "next", team, 4, upToTier(1))
		r.expectNotEnqueued(ctx, "next", "InsufficientScalarQuota", insufficient(team, r.class, 4, 12, 8))
		r.deleteJob(ctx, "zone")
		r.expectRunning(ctx, "next", 4)
		r.expectOneRack(ctx, "next")
		expectAllocated(ctx, team, r.class+"/count", 4)
	})
})

// otherRack is the other one of two racks.
var otherRack = map[string]string{"a": "b", "b": "a"}

// modelIn returns the model of the devices of a node: recent ones are in rack a.
func modelIn(node string) string {
	if node[0] == 'a' {
		return "recent"
	}
	return "old"
}
