// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"strconv"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	dispatcher "github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

var _ = Describe("The dispatcher's webhooks, with the manifests of config/dispatcher,", func() {
	It("hold a binding at its creation, and refuse clusters in words that people understand", func(ctx context.Context) {
		f := newFixture(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("1")))
		f.propagate(ctx, "deployments", deployments)
		f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
		Eventually(func() *workv1alpha2.ResourceBinding { return f.binding(ctx, deployments, "web") }).WithContext(ctx).ShouldNot(BeNil())
		held := f.binding(ctx, deployments, "web")
		Expect(held.Spec.SchedulingSuspended()).To(BeTrue())
		Expect(dispatcher.ParseHold(held.Annotations[dispatcher.HoldAnnotation])).To(Equal(&dispatcher.Hold{Reason: dispatcher.Waiting, Queue: team}))

		bindings := karmada.WorkV1alpha2().ResourceBindings(f.namespace)
		_, err := bindings.Patch(ctx, held.Name, types.MergePatchType, []byte(`{"spec":{"clusters":[{"name":"east","replicas":2}]}}`), metav1.PatchOptions{})
		Expect(err).To(MatchError(ContainSubstring("spec.clusters cannot get east (2 replicas) now, because vc-dispatcher holds Deployment %s/web until its queue has room", f.namespace)))
		changed, err := bindings.Patch(ctx, held.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"volcano.sh/hold":null}},"spec":{"suspension":null}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(changed.Annotations).To(HaveKeyWithValue(dispatcher.HoldAnnotation, held.Annotations[dispatcher.HoldAnnotation]))
		Expect(changed.Spec).To(Equal(held.Spec))
	})

	It("hold growth before it is stored, whatever Karmada writes afterwards", func(ctx context.Context) {
		f := newFixture(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("2")))
		f.propagateAs(ctx, "deployments", onlyTo(east), deployments)
		f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
		f.expectRunningIn(ctx, east, "web", 2)

		f.scaleTo(ctx, "web", 4, metav1.DryRunAll)
		Expect(f.binding(ctx, deployments, "web").Annotations).NotTo(HaveKey(dispatcher.HoldAnnotation))

		f.scaleTo(ctx, "web", 4)
		f.expectHeldGrowth(ctx, "web")
		for _, patch := range []string{`{"metadata":{"labels":{"seen":"once"}}}`, `{"spec":{"minReadySeconds":1}}`} {
			grown, err := hub.kube.AppsV1().Deployments(f.namespace).Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
			Eventually(func() int { // the detector resets suspension.dispatching in the same update
				return number(f.binding(ctx, deployments, "web").Spec.Resource.ResourceVersion)
			}).WithContext(ctx).Should(BeNumerically(">=", number(grown.ResourceVersion)))
			f.expectHeldGrowth(ctx, "web")
		}
		Expect(f.running(ctx, east, "web")).To(Equal(2))

		f.scaleTo(ctx, "web", 2)
		Eventually(func() map[string]string { return f.binding(ctx, deployments, "web").Annotations }).WithContext(ctx).ShouldNot(HaveKey(dispatcher.HoldAnnotation))
		Expect(f.binding(ctx, deployments, "web").Spec.SchedulingSuspended()).To(BeFalse())
	})
})

// number returns a resource version of Karmada's API server as a number.
func number(resourceVersion string) int {
	GinkgoHelper()
	n, err := strconv.Atoi(resourceVersion)
	Expect(err).NotTo(HaveOccurred())
	return n
}

// scaleTo scales a Deployment as kubectl scale does.
func (f *fixture) scaleTo(ctx context.Context, name string, replicas int32, dryRun ...string) {
	GinkgoHelper()
	scales := hub.kube.AppsV1().Deployments(f.namespace)
	scale, err := scales.GetScale(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	scale.ResourceVersion, scale.Spec.Replicas = "", replicas
	_, err = scales.UpdateScale(ctx, name, scale, metav1.UpdateOptions{DryRun: dryRun})
	Expect(err).NotTo(HaveOccurred())
}

// expectHeldGrowth checks immediately that no member gets the growth of a Deployment.
func (f *fixture) expectHeldGrowth(ctx context.Context, name string) {
	GinkgoHelper()
	rb := f.binding(ctx, deployments, name)
	hold, err := dispatcher.ParseHold(rb.Annotations[dispatcher.HoldAnnotation])
	Expect(err).NotTo(HaveOccurred())
	Expect(hold.Reason).To(Equal(dispatcher.Growing))
	Expect(rb.Spec.SchedulingSuspended()).To(BeTrue())
	Expect(ptr.Deref(rb.Spec.Suspension.Dispatching, false)).To(BeTrue())
}
