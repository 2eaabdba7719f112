// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The faults of volcano-global's dispatcher, and the specs that show what is right instead:
//
//	no conditions, events, or metrics              "a queue fills up across two members", fillScenarios
//	no Enqueueable                                 "a job with a minimum larger than any capability", mistakeScenarios
//	no hierarchy                                   hierarchyScenarios
//	no DRA                                         deviceScenarios
//	charges replicaRequirements x replicas only    "every kind of workload counts", fillScenarios; "a job that each member gets whole"
//	completed workloads stay charged               "short jobs follow each other", fillScenarios
//	an update is not gated (scale-up bypasses)     growthScenarios
//	accounts change before the patch of a release  "a dispatcher that is killed again and again", crashSpecs
//	a missing PriorityClass drops the charge       "a workload whose PriorityClass is missing", mistakeScenarios
//	a nil resourceSummary panics                   "a cluster that has reported nothing yet", fitScenarios
//	replaces the whole field suspension            "a policy that suspends dispatching", othersScenarios
//	a blocked binding is skipped                   "a large job is not starved by small ones", orderScenarios
//	a recreated binding is never resumed           "a workload that is deleted", fillScenarios
//
// Its live GET under a mutex shows in the benchmark of calls per release. MultiKueue took a member that is out of reach for
// the end of a workload, and missed what members evict: see outageSpecs.
//
// The scenarios of a context run side by side, see play. To run few of them, focus on their names.
var _ = Describe("The dispatcher", Ordered, ContinueOnFailure, func() {
	Context("by default,", func() {
		play(slices.Concat(fillScenarios, orderScenarios, hierarchyScenarios, deviceScenarios, growthScenarios, settleScenarios, overlapScenarios, orphanScenarios, othersScenarios, bypassScenarios, mistakeScenarios)...)
	})

	Context("with reclaim and manageWorkloadsWithoutQueue,", func() {
		BeforeAll(func(ctx context.Context) {
			settings := "manageWorkloadsWithoutQueue: true\ndefaultQueue: " + commonQueue
			useConfig(ctx, dispatcherConfig(settings, "reclaim: true"))
		})
		play(slices.Concat(reclaimScenarios, commonScenarios)...)
	})

	Context("with a short unschedulableTimeout,", func() {
		BeforeAll(func(ctx context.Context) {
			// Running pods must be reported within the timeout, or their grant is taken back, too. A busy machine may need seconds for that.
			useConfig(ctx, dispatcherConfig("unschedulableTimeout: 15s\nrequeueBackoff: 2s\nrequeueBackoffLimit: 4s", ""))
		})
		play(unschedulableScenarios...)
	})

	Context("when members go away,", outageSpecs)

	Context("when Karmada loses what it has sent,", lostSpecs)

	Context("when no dispatcher runs for a while,", presenceSpecs)

	Context("when dispatchers end at any moment,", crashSpecs)

	Context("when its view is late or wrong,", disturbedSpecs)

	Context("when everything happens at once,", churnSpecs)

	// The watches of queues end with the CRD, and those of the history too: what comes before needs them.
	Context("when the Queue CRD has no spec.dra, it", queueCRDSpecs)

	It("lets go of everything that is deleted", func(ctx context.Context) {
		Eventually(func(g Gomega) {
			bindings, err := karmada.WorkV1alpha2().ResourceBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			for _, b := range bindings.Items {
				if b.DeletionTimestamp != nil {
					(&fixture{Gomega: g, namespace: b.Namespace}).deleteLost(ctx)
				}
				g.Expect(b.DeletionTimestamp).To(BeNil(), "binding %s/%s, finalizers %v", b.Namespace, b.Name, b.Finalizers)
			}
		}).WithContext(ctx).Should(Succeed())
	})
})
