// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	visibilityv1alpha1 "github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// books are what a queue and the cluster say is in use, by dimension, and the devices of each claim.
type books struct {
	queue, cluster map[string]string
	claims         map[string][]string
}

// booksOf reads the books as users do. They are those of a session that began after the call. Amounts that jobs still wait for are left out.
func (r *racks) booksOf(ctx context.Context, queue string) books {
	GinkgoHelper()
	waitForCycles(ctx)
	var tree visibilityv1alpha1.QueueList
	Eventually(func(g Gomega) {
		output, err := tryDevicequota(ctx, "tree", queue, "--all", "-o", "json")
		g.Expect(err).NotTo(HaveOccurred(), "%s", output)
		g.Expect(json.Unmarshal([]byte(output), &tree)).To(Succeed())
		g.Expect(tree.Items).To(ContainElement(HaveField("Name", queue)))
	}).WithContext(ctx).Should(Succeed())
	b := books{map[string]string{}, map[string]string{}, map[string][]string{}}
	for _, q := range tree.Items {
		for _, f := range q.Figures {
			if !f.Allocated.IsZero() || !f.Promised.IsZero() || !f.Releasing.IsZero() {
				b.queue[q.Name+" "+f.Dimension.String()] = f.Allocated.String() + " " + f.Promised.String() + " " + f.Releasing.String()
			}
		}
	}
	for _, total := range tree.Cluster {
		b.cluster[total.Dimension.String()] = total.Used.String() + " of " + total.Total.String()
	}
	for name, amount := range getQueue(ctx, queue).Status.Allocated {
		b.queue["status "+string(name)] = amount.String()
	}
	maps.DeleteFunc(b.queue, func(name, amount string) bool { return amount == "0" })
	for _, claim := range must(kube.ResourceV1().ResourceClaims(r.namespace).List(ctx, metav1.ListOptions{})).Items {
		if names := deviceNames(&claim); names != nil {
			b.claims[claim.Name] = names
		}
	}
	return b
}

// expectUnchanged runs what places nothing, and checks that the books are the same while it waits and after it.
func (r *racks) expectUnchanged(ctx context.Context, queue string, waits func(), gone func()) {
	GinkgoHelper()
	before := r.booksOf(ctx, queue)
	Expect(before.queue).NotTo(BeEmpty(), "something runs")
	waits()
	Expect(r.booksOf(ctx, queue)).To(Equal(before), "while it waits")
	gone()
	Expect(r.booksOf(ctx, queue)).To(Equal(before), "after it gave up")
}

var _ = Describe("A gang that fits in no HyperNode", Ordered, ContinueOnFailure, func() {
	BeforeAll(withTopologies)

	var (
		r    *racks
		team string
	)

	// Three of the four devices of each rack are free.
	BeforeEach(func(ctx context.Context) {
		r = racksOf(ctx, 2)
		team = r.queue(ctx, "team", "root", limit(r.class, 20))
		r.uses(ctx, team, "a0", 1)
		r.uses(ctx, team, "b1", 1)
		Eventually(func() int64 { return getQueue(ctx, team).Status.Allocated.Cpu().Value() }).WithContext(ctx).Should(Equal(int64(2)), "the status of the queue")
	})

	expectNothing := func(ctx context.Context, pods int32, options ...jobOption) {
		GinkgoHelper()
		watch := r.watchHolders()
		r.expectUnchanged(ctx, team,
			func() {
				r.gang(ctx, "gang", team, pods, options...)
				r.expectNone(ctx, "gang", int(pods))
			},
			func() {
				r.deleteJob(ctx, "gang")
				r.expectClaims(ctx, 2)
			})
		Expect(watch.most(r.class)).To(Equal(2), "devices in use at the same time")
	}

	It("leaves no device and no charge behind", func(ctx context.Context) { expectNothing(ctx, 4, upToTier(1)) })

	It("leaves nothing behind of a part that fits", func(ctx context.Context) {
		expectNothing(ctx, 6, upToTier(1), inParts(2, 3)) // one part of three fits in each rack
	})

	It("leaves nothing behind of parts in several racks", func(ctx context.Context) {
		expectNothing(ctx, 9, upToTier(2), inParts(3, 3))
	})

	It("leaves its devices to others, and starts once a rack has room", func(ctx context.Context) {
		r.gang(ctx, "gang", team, 4, upToTier(1))
		r.expectNone(ctx, "gang", 4)
		r.gang(ctx, "other", team, 6)
		r.expectRunning(ctx, "other", 6)
		expectAllocated(ctx, team, r.class+"/count", 8)
		r.deleteJob(ctx, "other")
		r.deleteJob(ctx, "uses-b1")
		r.expectIn(ctx, "gang", tally{"b": 4})
		expectAllocated(ctx, team, r.class+"/count", 5)
		r.expectDevicesOnce(ctx)
	})
})
