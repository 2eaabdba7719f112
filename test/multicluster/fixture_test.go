// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// fixture has the objects of one case.
type fixture struct {
	// Gomega fails only this case, even if cases run side by side.
	Gomega
	namespace string
}

// newFixture creates a namespace on Karmada's API server. Karmada copies it to the members.
func newFixture(ctx context.Context) *fixture {
	f := openFixture(ctx, NewGomega(Fail))
	DeferCleanup(f.delete)
	DeferCleanup(f.describeFailure) // runs before delete
	return f
}

// openFixture is newFixture for cases that delete their own namespace.
func openFixture(ctx context.Context, g Gomega) *fixture {
	ns, err := hub.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	return &fixture{Gomega: g, namespace: ns.Name}
}

// delete deletes the workloads and waits until the members have nothing of them. It does not wait for the deletion of the
// namespace, which takes longer.
func (f *fixture) delete(ctx context.Context) {
	all, background := metav1.ListOptions{}, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	f.Expect(hub.vc.BatchV1alpha1().Jobs(f.namespace).DeleteCollection(ctx, background, all)).To(Succeed())
	f.Expect(hub.kube.AppsV1().Deployments(f.namespace).DeleteCollection(ctx, background, all)).To(Succeed())
	f.Expect(hub.kube.AppsV1().StatefulSets(f.namespace).DeleteCollection(ctx, background, all)).To(Succeed())
	f.Expect(hub.kube.BatchV1().Jobs(f.namespace).DeleteCollection(ctx, background, all)).To(Succeed())
	f.Expect(hub.kube.CoreV1().Pods(f.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, all)).To(Succeed())
	for name, member := range members {
		f.Eventually(func(g Gomega) {
			f.deleteLost(ctx)
			pods, err := member.kube.CoreV1().Pods(f.namespace).List(ctx, all)
			g.Expect(err).NotTo(HaveOccurred())
			claims, err := member.kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, all)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(pods.Items)+len(claims.Items)).To(BeZero(), "pods and claims of namespace %s in member %s", f.namespace, name)
		}).WithContext(ctx).Should(Succeed())
	}
	f.Expect(hub.kube.CoreV1().Namespaces().Delete(ctx, f.namespace, metav1.DeleteOptions{})).To(Succeed())
}

// expectReported waits until each member that has a workload has reported its status. If the workload is deleted before, Karmada may lose
// it: it deletes in a member only what its cache of the member has.
func (f *fixture) expectReported(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		binding := f.binding(ctx, kind, name)
		g.Expect(binding).NotTo(BeNil())
		g.Expect(binding.Status.AggregatedStatus).To(HaveLen(len(binding.Spec.Clusters)))
		g.Expect(binding.Status.AggregatedStatus).To(HaveEach(HaveField("Status", Not(BeNil()))))
	}).WithContext(ctx).Should(Succeed())
}

// remove deletes a workload in Karmada that runs in members.
func (f *fixture) remove(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) {
	GinkgoHelper()
	f.expectReported(ctx, kind, name)
	resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	objects := dynamic.NewForConfigOrDie(multicluster.Config()).Resource(resource).Namespace(f.namespace)
	f.Expect(objects.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})).To(Succeed())
}

// Kinds of workloads.
var (
	volcanoJobs  = policyv1alpha1.ResourceSelector{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"}
	deployments  = policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
	statefulSets = policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "StatefulSet"}
	batchJobs    = policyv1alpha1.ResourceSelector{APIVersion: "batch/v1", Kind: "Job"}
	barePods     = policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Pod"}
)

// named selects a workload of a kind.
func named(kind policyv1alpha1.ResourceSelector, name string) policyv1alpha1.ResourceSelector {
	kind.Name = name
	return kind
}

// propagate creates a policy. With it, Karmada runs each workload of some kinds, with its dependencies, in one member.
func (f *fixture) propagate(ctx context.Context, name string, kinds ...policyv1alpha1.ResourceSelector) {
	f.propagateAs(ctx, name, func(*policyv1alpha1.PropagationSpec) {}, kinds...)
}

func (f *fixture) propagateAs(ctx context.Context, name string, change func(*policyv1alpha1.PropagationSpec), kinds ...policyv1alpha1.ResourceSelector) {
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec = policyv1alpha1.PropagationSpec{
		ResourceSelectors: kinds,
		PropagateDeps:     true,
		Placement: policyv1alpha1.Placement{
			SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1, MaxGroups: 1}},
		},
	}
	change(&policy.Spec)
	_, err := karmada.PolicyV1alpha1().PropagationPolicies(f.namespace).Create(ctx, policy, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// onlyTo makes a policy choose one of some members.
func onlyTo(members ...string) func(*policyv1alpha1.PropagationSpec) {
	return func(spec *policyv1alpha1.PropagationSpec) {
		spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: members}
	}
}

// template creates a ResourceClaimTemplate with a number of devices of testdata.
func (f *fixture) template(ctx context.Context, name string, devices int64) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "nvidia-h100", Count: devices},
	}}
	_, err := hub.kube.ResourceV1().ResourceClaimTemplates(f.namespace).Create(ctx, template, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// binding returns the binding of a workload of a kind, nil if there is none.
func (f *fixture) binding(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) *workv1alpha2.ResourceBinding {
	GinkgoHelper()
	binding, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Get(ctx, strings.ToLower(name+"-"+kind.Kind), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.Expect(err).NotTo(HaveOccurred())
	return binding
}

// running returns the number of running pods of a workload in a member.
func (f *fixture) running(ctx context.Context, member, workload string) int {
	GinkgoHelper()
	pods, err := members[member].kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{LabelSelector: workloadLabel + "=" + workload})
	f.Expect(err).NotTo(HaveOccurred())
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running++
		}
	}
	return running
}

// expectRunningIn waits until exactly n pods of a workload run in a member.
func (f *fixture) expectRunningIn(ctx context.Context, member, workload string, n int) {
	GinkgoHelper()
	f.Eventually(func() int { return f.running(ctx, member, workload) }).WithContext(ctx).Should(Equal(n), "running pods of %s in member %s", workload, member)
}

// expectRunning waits until exactly n pods of a workload run in all members together.
func (f *fixture) expectRunning(ctx context.Context, workload string, n int) {
	GinkgoHelper()
	f.Eventually(func() int { return f.running(ctx, east, workload) + f.running(ctx, west, workload) }).WithContext(ctx).Should(Equal(n), "running pods of %s", workload)
}

// memberLabel is the label with the member in which a workload must run. Without it, Karmada chooses.
const memberLabel = "e2e.devicequota.io/member"

// ownPolicy replaces the member for a workload with its own policy. The policies of propagateAll do not match it: Karmada's detector
// gives a workload the best policy that it has read so far, and does not replace it by a better one later.
const ownPolicy = "as-its-policy-says"

// propagateAll creates policies for all kinds of workloads, except for workloads with their own policy.
func (f *fixture) propagateAll(ctx context.Context) {
	kinds := []policyv1alpha1.ResourceSelector{volcanoJobs, deployments, statefulSets, batchJobs, barePods}
	labelled := func(selector metav1.LabelSelectorRequirement) []policyv1alpha1.ResourceSelector {
		all := slices.Clone(kinds)
		for i := range all {
			all[i].LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{selector}}
		}
		return all
	}
	for _, member := range []string{east, west} {
		f.propagateAs(ctx, "to-"+member, onlyTo(member), labelled(metav1.LabelSelectorRequirement{
			Key: memberLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{member},
		})...)
	}
	f.propagate(ctx, "to-any", labelled(metav1.LabelSelectorRequirement{Key: memberLabel, Operator: metav1.LabelSelectorOpDoesNotExist})...)
}
