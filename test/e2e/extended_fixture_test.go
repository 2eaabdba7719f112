// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// gpu returns the name of the case's extended resource. No other case uses it.
func (f *fixture) gpu() corev1.ResourceName { return corev1.ResourceName(f.driver() + "/gpu") }

// offering makes a class offer an extended resource.
func offering(name corev1.ResourceName) func(*resourcev1.DeviceClass) {
	return func(class *resourcev1.DeviceClass) { class.Spec.ExtendedResourceName = ptr.To(string(name)) }
}

// ofCard makes the devices of a class cards with a name.
func ofCard(name string) func(*resourcev1.DeviceClass) {
	return func(class *resourcev1.DeviceClass) {
		class.Annotations = map[string]string{"volcano.sh/card.name": name}
	}
}

// changeClass changes an existing DeviceClass.
func changeClass(ctx context.Context, name string, change ...func(*resourcev1.DeviceClass)) {
	GinkgoHelper()
	update(ctx, kube.ResourceV1().DeviceClasses(), name, func(class *resourcev1.DeviceClass) {
		for _, c := range change {
			c(class)
		}
	})
}

// pluginNode adds a node with a device plugin that offers count of the case's extended resource.
func (f *fixture) pluginNode(ctx context.Context, name string, count int) string {
	return f.cardNode(ctx, name, "", fmt.Sprintf(`%s: "%d"`, f.gpu(), count))
}

// ask makes a container request an additional amount of a resource.
func ask(container *corev1.Container, name corev1.ResourceName, n int64) {
	resources := &container.Resources
	for _, list := range []*corev1.ResourceList{&resources.Requests, &resources.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = *resource.NewQuantity(n, resource.DecimalSI)
	}
}

// needing makes the first container of a pod request an amount of a resource.
func needing(name corev1.ResourceName, n int64) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { ask(&spec.Containers[0], name, n) }
}

// atMostOf creates a queue with a capability of a resource, and of classes unless dra is nil.
func (f *fixture) atMostOf(ctx context.Context, name, parent string, of corev1.ResourceName, n int64, dra *schedulingv1beta1.DRAQuota) string {
	queue := f.queue(ctx, name, parent, dra)
	setCapability(ctx, queue, of, n)
	return queue
}

func setCapability(ctx context.Context, queue string, of corev1.ResourceName, n int64) {
	changeQueue(ctx, queue, func(spec *schedulingv1beta1.QueueSpec) {
		spec.Capability = corev1.ResourceList{of: *resource.NewQuantity(n, resource.DecimalSI)}
	})
}

func (f *fixture) getPod(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	return must(kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{}))
}

func (f *fixture) deletePod(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// patchPodStatus changes the status of a pod, as its kubelet or a user with rights on pods/status does.
func (f *fixture) patchPodStatus(ctx context.Context, name, patch string) {
	GinkgoHelper()
	must(kube.CoreV1().Pods(f.namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"))
}

// extendedClaim returns the claim that the status of a pod names for its extended resources.
func (f *fixture) extendedClaim(ctx context.Context, pod *corev1.Pod) *resourcev1.ResourceClaim {
	GinkgoHelper()
	Expect(pod.Status.ExtendedResourceClaimStatus).NotTo(BeNil(), "status.extendedResourceClaimStatus of pod %s", pod.Name)
	return must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, pod.Status.ExtendedResourceClaimStatus.ResourceClaimName, metav1.GetOptions{}))
}

// claimNames returns the names of all claims in the namespace.
func (f *fixture) claimNames(ctx context.Context) []string {
	claims := must(kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, metav1.ListOptions{}))
	all := []string{}
	for _, claim := range claims.Items {
		all = append(all, claim.Name)
	}
	return all
}

// expectClaims waits until the namespace has n claims.
func (f *fixture) expectClaims(ctx context.Context, n int) {
	GinkgoHelper()
	Eventually(f.claimNames).WithContext(ctx).WithArguments(ctx).Should(HaveLen(n), "claims in namespace %s", f.namespace)
}

// expectPodExplained waits until the condition PodScheduled of a pod and one of its events have a message, as `kubectl describe pod` shows them.
func (f *fixture) expectPodExplained(ctx context.Context, name string, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod, err := kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Spec.NodeName).To(BeEmpty(), "node of pod %s", name)
		g.Expect(f.warnings(ctx, name)).To(ContainElement(message), "events of pod %s", name)
		g.Expect(pod.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", corev1.PodScheduled), HaveField("Status", corev1.ConditionFalse), HaveField("Message", message))))
	}).WithContext(ctx).Should(Succeed())
	f.expectCauseThat(ctx, "pods", name, message)
}

// number matches a text with a number.
func number(n int) gomegatypes.GomegaMatcher { return MatchRegexp(`\b%d\b`, n) }

var resourceSample = regexp.MustCompile(`(?m)^volcano_queue_allocated_scalar_resources\{queue_name="([^"]*)",resource="([^"]*)"\} (\S+)$`)

// charge returns the amount of a resource that a queue is charged.
func charge(ctx context.Context, queue string, name corev1.ResourceName) int {
	for _, m := range resourceSample.FindAllStringSubmatch(schedulerMetrics(ctx), -1) {
		if m[1] == queue && m[2] == string(name) {
			thousandths := must(strconv.ParseFloat(m[3], 64))
			return int(thousandths / 1000)
		}
	}
	return 0
}

// expectCharge waits until a queue is charged exactly n of a resource.
func expectCharge(ctx context.Context, queue string, name corev1.ResourceName, n int) {
	GinkgoHelper()
	Eventually(charge).WithContext(ctx).WithArguments(ctx, queue, name).Should(Equal(n), "charge of queue %s for %s", queue, name)
}

// passingModel creates a class for the devices of a model that offers the case's extended resource. Specs may delete it.
func (f *fixture) passingModel(ctx context.Context, name, model string) string {
	GinkgoHelper()
	class := f.name(name)
	createClass(ctx, class, fmt.Sprintf(`device.driver == %q && device.attributes[%[1]q].model == %q`, f.driver(), model), offering(f.gpu()))
	return class
}
