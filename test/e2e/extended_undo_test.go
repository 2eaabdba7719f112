// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/test/cluster"
)

// refusedByPolicy is part of the API server's message when a policy of a spec refuses a request.
const refusedByPolicy = "refused by a spec"

// refusal is a request of the scheduler that a policy refuses.
type refusal struct {
	operation       admissionv1.OperationType
	group, resource string
	// allowed is a CEL expression that is true for requests that the policy does not refuse.
	allowed string
	// probe sends this request without effect.
	probe func(context.Context, *fixture) error
}

var dryRun = []string{metav1.DryRunAll}

// The requests that bind a pod with an extended claim, in order.
var (
	claimCreated = refusal{admissionv1.Create, resourcev1.GroupName, "resourceclaims", "object.metadata.name == 'probe'", func(ctx context.Context, f *fixture) error {
		_, err := kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx,
			&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "another"}, Spec: asking(exactly(f.class, 1))}, metav1.CreateOptions{DryRun: dryRun})
		return err
	}}
	claimAllocated = refusal{admissionv1.Update, resourcev1.GroupName, "resourceclaims/status", "!has(object.status.allocation)", func(ctx context.Context, f *fixture) error {
		_, err := kube.ResourceV1().ResourceClaims(f.namespace).Patch(ctx, "probe", types.MergePatchType,
			[]byte(`{"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example.com","pool":"p","device":"d"}]}}}}`),
			metav1.PatchOptions{DryRun: dryRun}, "status")
		return err
	}}
	statusWritten = refusal{admissionv1.Update, "", "pods/status", "!has(object.status.extendedResourceClaimStatus)", func(ctx context.Context, f *fixture) error {
		_, err := kube.CoreV1().Pods(f.namespace).Patch(ctx, "probe", types.MergePatchType,
			fmt.Appendf(nil, `{"status":{"extendedResourceClaimStatus":{"resourceClaimName":"none","requestMappings":[
				{"containerName":"main","resourceName":%q,"requestName":"container-0-request-0"}]}}}`, f.gpu()), metav1.PatchOptions{DryRun: dryRun}, "status")
		return err
	}}
	podBound = refusal{admissionv1.Create, "", "pods/binding", "object.metadata.name == 'second'", func(ctx context.Context, f *fixture) error {
		return kube.CoreV1().Pods(f.namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Target: corev1.ObjectReference{Kind: "Node", Name: "none"}},
			metav1.CreateOptions{DryRun: dryRun})
	}}
)

// refuse makes the API server refuse requests in the case's namespace, until the returned function is called.
func (f *fixture) refuse(ctx context.Context, r refusal) (allow func(context.Context)) {
	GinkgoHelper()
	policies, bindings := kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: f.name("refuse")}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		Validations: []admissionv1.Validation{{Expression: r.allowed, Message: refusedByPolicy}},
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{r.operation},
				Rule:       admissionv1.Rule{APIGroups: []string{r.group}, APIVersions: []string{"*"}, Resources: []string{r.resource}},
			}}},
		},
	}
	must(policies.Create(ctx, policy, metav1.CreateOptions{}))
	must(bindings.Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{}))
	allow = func(ctx context.Context) {
		Expect(ignoreNotFound(bindings.Delete(ctx, policy.Name, metav1.DeleteOptions{}))).To(Succeed())
		Expect(ignoreNotFound(policies.Delete(ctx, policy.Name, metav1.DeleteOptions{}))).To(Succeed())
	}
	DeferCleanup(allow)
	Eventually(r.probe).WithContext(ctx).WithArguments(ctx, f).Should(MatchError(ContainSubstring(refusedByPolicy)))
	return allow
}

// probe creates a claim, and a pod that no scheduler places, to find out whether a policy is in force.
func (f *fixture) probe(ctx context.Context, queue string) {
	f.claim(ctx, "probe", exactly(f.class, 1))
	f.pod(ctx, "probe", queue, func(spec *corev1.PodSpec) {
		needing(f.gpu(), 1)(spec)
		spec.SchedulerName = "nobody"
	})
}

var _ = Describe("A pod with an extended resource that cannot be bound", func() {
	DescribeTable("has no claim, no status, and no charge, and runs once it can, if the API server refuses", func(ctx context.Context, r refusal) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 2, limit(class, 2))
		f.probe(ctx, queue)
		watch, bound := f.watchHolders(), f.watchCards(f.gpu())
		allow := f.refuse(ctx, r)

		f.pod(ctx, "first", queue, needing(f.gpu(), 2))
		before := cycles(ctx)
		Eventually(func() bool { return f.refusedOften(ctx, "first") }).WithContext(ctx).Should(BeTrue(), "events say that binding failed")
		Eventually(cycles).WithContext(ctx).WithArguments(ctx).Should(BeNumerically(">", before+20))
		Expect(len(f.claimNames(ctx))).To(BeNumerically("<=", 2), "claims of the pod and the probe")

		By("deleting it while its binding fails")
		f.deletePod(ctx, "first")
		Eventually(f.claimNames).WithContext(ctx).WithArguments(ctx).Should(Equal([]string{"probe"}))
		expectCharge(ctx, queue, f.gpu(), 0)
		expectAllocated(ctx, queue)

		By("allowing it for the next one")
		f.pod(ctx, "next", queue, needing(f.gpu(), 2))
		Eventually(func() bool { return f.refusedOften(ctx, "next") }).WithContext(ctx).Should(BeTrue())
		allow(ctx)
		f.expectPodRuns(ctx, "next")
		Expect(f.extendedClaim(ctx, f.getPod(ctx, "next")).Status.ReservedFor).To(HaveLen(1))
		f.expectClaims(ctx, 2)
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue, class+"/count", 2)
		Expect([]int{watch.most(class), bound.most()}).To(Equal([]int{2, 2}), "most devices in use, and requests of bound pods, at a time")
		Expect(watch.shared()).To(BeEmpty())
	},
		Entry("the claim", claimCreated),
		Entry("its allocation", claimAllocated),
		Entry("the status of the pod", statusWritten),
		Entry("the binding", podBound),
	)

	It("leaves its devices to another pod", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		ours, theirs := f.atMostOf(ctx, "ours", "root", f.gpu(), 2, limit(class, 2)), f.queue(ctx, "theirs", "root", limit(class, 2))
		f.probe(ctx, ours)
		f.refuse(ctx, podBound)
		f.pod(ctx, "first", ours, needing(f.gpu(), 2))
		Eventually(func() bool { return f.refusedOften(ctx, "first") }).WithContext(ctx).Should(BeTrue())
		f.deletePod(ctx, "first")
		f.pod(ctx, "second", theirs, needing(f.gpu(), 2)) // the policy lets it pass
		f.expectPodRuns(ctx, "second")
		f.expectClaims(ctx, 2)
		expectCharge(ctx, ours, f.gpu(), 0)
		expectAllocated(ctx, ours)
	})
})

// refusedOften reports whether a pod has an event that a policy has refused its binding.
func (f *fixture) refusedOften(ctx context.Context, pod string) bool {
	return strings.Contains(strings.Join(eventsIn(ctx, f.namespace, "involvedObject.name="+pod), "\n"), refusedByPolicy)
}

var _ = Describe("A scheduler that crashed while it bound pods with extended resources", func() {
	It("has left a claim, which is deleted, so that its pod can have the devices", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 0, limit(class, 2))
		f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "user", ContainSubstring(insufficient(queue, string(f.gpu()), 2, 2, 0)))
		stale := f.extendedClaimFor(ctx, f.getPod(ctx, "user"), exactly(class, 2))
		f.allocate(ctx, stale, "n", "gpu-0", "gpu-1")
		setCapability(ctx, queue, f.gpu(), 2)
		f.expectPodRuns(ctx, "user")
		Expect(f.extendedClaim(ctx, f.getPod(ctx, "user")).UID).NotTo(Equal(stale.UID))
		f.expectClaims(ctx, 1)
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue, class+"/count", 2)
	})

	It("has allocated no device twice, and has left no claim behind, after a burst", func(ctx context.Context) {
		const pods, kills = 20, 3
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "left", devices(4, "gpu", nil)...)
		f.node(ctx, "right", devices(4, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 6, limit(class, 6))
		watch, bound := f.watchHolders(), f.watchCards(f.gpu())
		for i := range pods {
			f.cardJob(ctx, fmt.Sprint("burst-", i), queue, cardTask{resource: f.gpu(), count: 1 + i%2, runFor: (500 * time.Millisecond).String()})
		}
		succeeded := func() int {
			list := must(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Succeeded"}))
			return len(list.Items)
		}
		for range kills {
			before := succeeded()
			Eventually(func() bool { return watch.current(class) > 0 && succeeded() > before || succeeded() == pods }).WithContext(ctx).Should(BeTrue(), "progress of the burst")
			Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
			Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		}
		Eventually(succeeded).WithContext(ctx).Should(Equal(pods))
		f.expectClaims(ctx, 0)
		expectCharge(ctx, queue, f.gpu(), 0)
		expectAllocated(ctx, queue)
		Expect(watch.shared()).To(BeEmpty())
		Expect([]int{watch.most(class), bound.most()}).To(HaveEach(SatisfyAll(BeNumerically("<=", 6), BeNumerically(">", 2))), "a burst that does not fill the quota proves nothing")
	})

	It("charges the pods that run after a restart as before", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.pluginNode(ctx, "old", 2)
		f.node(ctx, "new", devices(2, "gpu", nil)...)
		f.cardNode(ctx, "free", "", fmt.Sprintf(`%s: "1"`, f.gpu()))
		f.patchNode(ctx, "free", `{"spec":{"unschedulable":true}}`)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 4, limit(class, 4))
		f.cardJob(ctx, "runs", queue, cardTask{resource: f.gpu(), pods: 4})
		f.expectRunning(ctx, "runs", 4)
		killScheduler(ctx)
		expectCharge(ctx, queue, f.gpu(), 4)
		expectAllocated(ctx, queue, class+"/count", 2)
		f.cardJob(ctx, "more", queue, cardTask{resource: f.gpu()})
		f.expectNotEnqueued(ctx, "more", "InsufficientScalarQuota", insufficient(queue, string(f.gpu()), 1, 5, 4))
	})
})

// extendedClaimFor creates a claim for the extended resources of a pod, as a scheduler does before it allocates devices.
func (f *fixture) extendedClaimFor(ctx context.Context, pod *corev1.Pod, request resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	GinkgoHelper()
	claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pod.Name + "-extended-resources-", Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}},
		},
		Spec: asking(named("container-0-request-0", request)),
	}, metav1.CreateOptions{}))
	return claim
}
