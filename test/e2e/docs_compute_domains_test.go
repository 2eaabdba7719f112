// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/page"
)

const (
	nvidiaDaemon = "compute-domain-daemon.nvidia.com"
	domainDriver = "compute-domain.nvidia.com"

	// computeDomains has as much of the driver's CRD as the page needs.
	computeDomains = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: computedomains.resource.nvidia.com}
spec:
  group: resource.nvidia.com
  scope: Namespaced
  names: {kind: ComputeDomain, plural: computedomains, singular: computedomain, listKind: ComputeDomainList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	channelTemplate = "doc-training-channel"
)

// domains is a driver with three nodes, in whose namespace daemons run.
type domains struct{ *fixture }

// newDomains publishes what NVIDIA's driver does for three nodes of four GPUs each.
func newDomains(ctx context.Context) *domains {
	d := &domains{newFixture(ctx)}
	createClass(ctx, nvidiaGPU, `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'`)
	ofDomains := `device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == `
	createClass(ctx, nvidiaChannel, ofDomains+`'channel' && device.attributes['compute-domain.nvidia.com'].id == 0`)
	createClass(ctx, nvidiaDaemon, ofDomains+`'daemon'`)
	for n := range 3 {
		name := fmt.Sprint("nvl-", n)
		d.cardNode(ctx, name, "", "")
		var gpus []resourcev1.Device
		for g := range 4 {
			gpus = append(gpus, ofType("gpu", g))
		}
		d.slice(ctx, name, "gpu.nvidia.com", gpus...)
		d.slice(ctx, name, domainDriver, ofType("channel", 0), ofType("daemon", 0))
	}
	Expect(controlPlane.ApplyYAML(ctx, "computedomains.yaml", []byte(computeDomains))).To(Succeed())
	return d
}

func ofType(kind string, id int) resourcev1.Device {
	return resourcev1.Device{Name: fmt.Sprintf("%s-%d", kind, id), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"type": {StringValue: ptr.To(kind)}, "id": {IntValue: ptr.To(int64(id))},
	}}
}

func (d *domains) slice(ctx context.Context, node, driver string, devices ...resourcev1.Device) {
	node = d.name(node)
	slice := must(kube.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{GenerateName: node + "-"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, Devices: devices,
		},
	}, metav1.CreateOptions{}))
	cleanUp(kube.ResourceV1().ResourceSlices().Delete, slice.Name)
}

// makeTemplate does what the driver's controller does for the ComputeDomain of the page.
func makeTemplate(ctx context.Context) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: channelTemplate}}
	template.Spec.Spec = asking(named("channel", exactly(nvidiaChannel, 1)))
	must(kube.ResourceV1().ResourceClaimTemplates(metav1.NamespaceDefault).Create(ctx, template, metav1.CreateOptions{}))
	DeferCleanup(kube.ResourceV1().ResourceClaimTemplates(metav1.NamespaceDefault).Delete, channelTemplate, metav1.DeleteOptions{})
}

// daemon does what DaemonSets and the default scheduler do: it runs the daemon of a node.
func (d *domains) daemon(ctx context.Context, node string) (pod string) {
	pod = "daemon-" + node
	claim := d.claim(ctx, pod, named("daemon", exactly(nvidiaDaemon, 1)))
	d.allocateFrom(ctx, claim, domainDriver, node, "daemon-0")
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod}, Spec: corev1.PodSpec{
		SchedulerName: corev1.DefaultSchedulerName, NodeName: d.name(node), TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{Name: "compute-domain-daemon", Image: "registry.example.com/daemon:v1"}},
	}}
	using(pod)(&object.Spec)
	must(kube.CoreV1().Pods(d.namespace).Create(ctx, object, metav1.CreateOptions{}))
	d.expectPodRuns(ctx, pod)
	return pod
}

// expectStatements checks what a page says about the example in a section.
func expectStatements(ctx context.Context, section string) (checked int) {
	GinkgoHelper()
	for _, m := range charged.FindAllStringSubmatch(section, -1) {
		var want []any
		for _, f := range figure.FindAllStringSubmatch(m[2], -1) {
			want = append(want, f[1], f[2])
		}
		expectAllocated(ctx, m[1], want...)
		checked++
	}
	for _, m := range waits.FindAllStringSubmatch(section, -1) {
		Eventually(func() bool { return hasWarning(ctx, metav1.NamespaceDefault, m[2]) }).WithContext(ctx).Should(BeTrue(), "%s", m[0])
		job := &fixture{namespace: metav1.NamespaceDefault, kube: kube}
		Expect(job.phase(ctx, m[1], corev1.PodRunning)).To(BeZero(), "running pods of %s", m[1])
		checked++
	}
	return checked
}

var _ = Describe("NVIDIA's ComputeDomains", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		Expect(controlPlane.UseScheduler(ctx, cluster.Ours, configured(
			"  - name: capacity\n    enableHierarchy: true\n    arguments:\n      deviceAccounting: matching\n      deviceQuotaRequired: true\n"))).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.UseScheduler(ctx, cluster.Ours, "") })
	})

	It("are charged as their page says", func(ctx context.Context) {
		text := string(must(os.ReadFile("../../docs/compute-domains.md")))
		d := newDomains(ctx)
		for _, queue := range []string{"doc-domains", "doc-gpus-only"} {
			cleanUp(queues.SchedulingV1beta1().Queues().Delete, queue)
		}
		cleanUp(kube.ResourceV1().ResourceClaimTemplates(metav1.NamespaceDefault).Delete, "doc-four-gpus")
		DeferCleanup(deleteJobs, metav1.NamespaceDefault)
		examples := yamlBlock.FindAllStringSubmatchIndex(text, -1)
		Expect(examples).To(HaveLen(3))
		checked := 0
		for i, at := range examples {
			Expect(controlPlane.ApplyYAML(ctx, "compute-domains.md", []byte(text[at[2]:at[3]]))).To(Succeed())
			if i == 0 {
				job := &fixture{namespace: metav1.NamespaceDefault, kube: kube}
				job.expectNotEnqueued(ctx, "doc-training", "GetTaskRequestResourceFailed", "ResourceClaimTemplate default/"+channelTemplate+" does not exist")
				makeTemplate(ctx)
			}
			following := append(examples, []int{len(text)})[i+1][0]
			checked += expectStatements(ctx, text[at[1]:following])
		}
		Expect(checked).To(Equal(3), "statements in the page")

		By("keeping the devices of daemons from others")
		d.refused(ctx, "thief", "doc-domains", "InsufficientScalarQuota", insufficient("doc-domains", nvidiaDaemon, 1, 1, 0), exactly(nvidiaDaemon, 1))
		d.refused(ctx, "unlisted", "doc-gpus-only", "EmptyQueueCapability", "deviceQuotaRequired", exactly(nvidiaDaemon, 1))

		By("running daemons, which belong to no queue")
		for _, pod := range []string{d.daemon(ctx, "nvl-0"), d.daemon(ctx, "nvl-1")} {
			expectWarning(ctx, d.namespace, "Pod", pod, "ChargedToRoot", "Scheduler default-scheduler placed the pod outside of all queues")
		}
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(ContainSubstring("\nvolcano_unattributed_pods 2\n"))
		expectStatements(ctx, text)
		commands := slices.DeleteFunc(page.Block.FindAllStringSubmatch(text, -1), func(block []string) bool { return block[1] != "sh" })
		Expect(commands).To(HaveLen(1))
		shell := newShell()
		holders := func() (string, error) {
			output, err := shell.run(ctx, commands[0][2])
			return strings.Join(output, "\n"), err
		}
		Eventually(holders).WithContext(ctx).Should(MatchRegexp(`pod/daemon-nvl-0 +root +1 (.*\n)*.*pod/daemon-nvl-1 +root +1 `))
		d.deletePod(ctx, "daemon-nvl-0")
		Eventually(holders).WithContext(ctx).Should(And(Not(ContainSubstring("daemon-nvl-0")), ContainSubstring("daemon-nvl-1")))
	})
})
