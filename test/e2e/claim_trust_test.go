// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// Attempts by users with rights on pods and claims of their namespace. No admission policy refuses them: the specs act as administrators.
var _ = Describe("The charge of a claim", func() {
	var (
		f           *fixture
		class, team string
	)

	// A queue may use one of four devices.
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu")
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		team = f.queue(ctx, "team", "root", limit(class, 1))
	})

	waits := func(ctx context.Context, name string) {
		GinkgoHelper()
		f.claim(ctx, name, exactly(class, 1))
		f.pod(ctx, name, team, using(name))
		f.expectPodExplained(ctx, name, ContainSubstring(insufficient(team, class, 1, 2, 1)))
	}
	stillFull := func(ctx context.Context, name string) {
		GinkgoHelper()
		waits(ctx, name)
		expectAllocated(ctx, team, class+"/count", 1)
		killScheduler(ctx)
		waits(ctx, name+"-after-restart")
		expectAllocated(ctx, team, class+"/count", 1)
		Expect(f.getPod(ctx, name).Spec.NodeName).To(BeEmpty())
		f.deletePod(ctx, name+"-after-restart") // both may have been created in the same second, so either one comes first
	}
	// owned creates a claim whose controller is a pod that never starts.
	owned := func(ctx context.Context, name string, decoy *corev1.Pod) {
		GinkgoHelper()
		claim := f.claim(ctx, name, exactly(class, 1))
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: decoy.Name, UID: decoy.UID, Controller: ptr.To(true)}}
		must(kube.ResourceV1().ResourceClaims(f.namespace).Update(ctx, claim, metav1.UpdateOptions{}))
	}
	// lose removes the finalizer of a claim, and deletes it.
	lose := func(ctx context.Context, name string) {
		GinkgoHelper()
		claims := kube.ResourceV1().ResourceClaims(f.namespace)
		Expect(claims.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		f.dropFinalizers(ctx, name)
	}

	It("stays at the queue for which the claim got its devices, whoever joins it", func(ctx context.Context) {
		none := f.queue(ctx, "none", "root", limit(class, 0))
		below := f.queue(ctx, "below", none, nil)
		f.claim(ctx, "shared", exactly(class, 1))
		f.pod(ctx, "first", team, using("shared"))
		f.expectPodRuns(ctx, "first")
		f.submit(ctx, gang("joiners", below, 2).usingClaim("shared"))
		f.expectRunning(ctx, "joiners", 2)
		f.deletePod(ctx, "first")
		stillFull(ctx, "more")
		expectAllocated(ctx, below)
		expectAllocated(ctx, none)

		By("ending the last pod that shares it")
		f.deleteJob(ctx, "joiners")
		f.expectPodRuns(ctx, "more")
		expectAllocated(ctx, team, class+"/count", 1)
	})

	It("is recorded as it is, whichever of the gangs of two queues that share a claim comes first", func(ctx context.Context) {
		other := f.queue(ctx, "other", "root", limit(class, 1))
		f.claim(ctx, "shared", exactly(class, 1))
		f.submit(ctx, gang("here", team, 4).usingClaim("shared"))
		f.submit(ctx, gang("there", other, 4).usingClaim("shared"))
		f.expectRunning(ctx, "here", 4)
		f.expectRunning(ctx, "there", 4)
		claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "shared", metav1.GetOptions{}))
		payer, free := team, other
		if strings.HasSuffix(claim.Annotations[chargerecord.QueueAnnotation], "/"+other) {
			payer, free = other, team
		}
		expectAllocated(ctx, payer, class+"/count", 1)
		expectAllocated(ctx, free)
		killScheduler(ctx)
		f.claim(ctx, "more", exactly(class, 1))
		f.pod(ctx, "more", payer, using("more"))
		f.expectPodExplained(ctx, "more", ContainSubstring(insufficient(payer, class, 1, 2, 1)))
		expectAllocated(ctx, payer, class+"/count", 1)
		expectAllocated(ctx, free)
	})

	It("does not go to a pod that never starts and that a user makes the owner", func(ctx context.Context) {
		other := f.queue(ctx, "other", "root", limit(class, 1))
		decoy := f.pod(ctx, "decoy", other, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"no": "node"} })
		owned(ctx, "owned", decoy)
		f.pod(ctx, "first", team, using("owned"))
		f.expectPodRuns(ctx, "first")
		expectAllocated(ctx, other)
		owned(ctx, "owned-too", decoy)
		f.pod(ctx, "second", team, using("owned-too"))
		f.expectPodExplained(ctx, "second", ContainSubstring(insufficient(team, class, 1, 2, 1)))
		stillFull(ctx, "more")
		expectAllocated(ctx, other)
	})

	It("does not end, nor do the devices become free, when a user deletes the claim of a running pod", func(ctx context.Context) {
		setQuota(ctx, team, limit(class, 4))
		f.claim(ctx, "lost", exactly(class, 4))
		f.pod(ctx, "runs", team, using("lost"))
		f.expectPodRuns(ctx, "runs")
		expectAllocated(ctx, team, class+"/count", 4)
		lose(ctx, "lost")
		f.claim(ctx, "lost", exactly(class, 1)) // with the same name
		f.pod(ctx, "next", team, using("lost"))
		f.expectPodExplained(ctx, "next", ContainSubstring(insufficient(team, class, 1, 5, 4)))
		expectAllocated(ctx, team, class+"/count", 4)

		By("restarting the scheduler, with a quota for more")
		killScheduler(ctx)
		setQuota(ctx, team, limit(class, 8))
		f.expectPodExplained(ctx, "next", ContainSubstring("No node has enough free devices"))
		expectAllocated(ctx, team, class+"/count", 4)

		By("ending the pod")
		f.deletePod(ctx, "runs")
		f.expectPodRuns(ctx, "next")
		expectAllocated(ctx, team, class+"/count", 1)
	})

	It("does not replace that of a card, although a user makes the claim look like one for extended resources", func(ctx context.Context) {
		model := f.name("card")
		cards := f.cardQueue(ctx, "cards", "root", `{"`+model+`": 1}`)
		f.claim(ctx, "cheap", named("container-0-request-0", exactly(class, 1)))
		f.node(ctx, "cards", devices(1, "gpu", nil)...)
		f.setNodeLabel(ctx, "cards", "nvidia.com/gpu.product", model)
		f.patchNodeStatus(ctx, "cards", fmt.Sprintf(`{"status":{"allocatable":{%q:"4"},"capacity":{%[1]q:"4"}}}`, gpus))
		withCard := func(spec *corev1.PodSpec) { ask(&spec.Containers[0], gpus, 1) }
		pod := f.pod(ctx, "runs", cards, func(spec *corev1.PodSpec) { withCard(spec); using("cheap")(spec) })
		f.expectPodRuns(ctx, "runs")
		claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "cheap", metav1.GetOptions{}))
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, resourcev1.ExtendedResourceClaimAnnotation, "true")
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
		must(kube.ResourceV1().ResourceClaims(f.namespace).Update(ctx, claim, metav1.UpdateOptions{}))
		f.pod(ctx, "second", cards, withCard)
		f.expectPodExplained(ctx, "second", ContainSubstring(insufficient(cards, model, 1, 2, 1)))
		killScheduler(ctx)
		f.pod(ctx, "third", cards, withCard)
		f.expectPodExplained(ctx, "third", ContainSubstring(insufficient(cards, model, 1, 2, 1)))
		Expect(f.getPod(ctx, "second").Spec.NodeName).To(BeEmpty())
		expectAllocated(ctx, cards, class+"/count", 1)
	})
})
