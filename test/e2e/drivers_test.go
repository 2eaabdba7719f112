// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	nvidiaGPU, nvidiaMIG, nvidiaVFIO = "gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"
	nvidiaChannel                    = "compute-domain-default-channel.nvidia.com"
	exampleGPU, exampleShared        = "gpu.dra.example.com", "shared.gpu.dra.example.com"
)

// publish creates the node, classes, and slices of a driver.
func publish(ctx context.Context, file, node string, classes ...string) {
	GinkgoHelper()
	manifest := must(os.ReadFile(filepath.Join("testdata", "drivers", file)))
	DeferCleanup(func(ctx context.Context) {
		Expect(kube.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})).To(Succeed())
		for _, class := range classes {
			Expect(kube.ResourceV1().DeviceClasses().Delete(ctx, class, metav1.DeleteOptions{})).To(Succeed())
		}
		Expect(kube.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})).To(Succeed())
	})
	Expect(controlPlane.ApplyYAML(ctx, file, manifest)).To(Succeed())
}

func publishNVIDIA(ctx context.Context) {
	publish(ctx, "nvidia.yaml", "nvidia-0", nvidiaGPU, nvidiaMIG, nvidiaVFIO, nvidiaChannel)
}

func publishExample(ctx context.Context) {
	publish(ctx, "example.yaml", "example-0", exampleGPU, exampleShared)
}

// where restricts a request to devices with an attribute of the driver.
func where(r resourcev1.DeviceRequest, attribute string) resourcev1.DeviceRequest {
	r.Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "device.attributes['gpu.nvidia.com']." + attribute}}}
	return r
}

// ofProfile restricts a request to a MIG profile.
func ofProfile(r resourcev1.DeviceRequest, profile string) resourcev1.DeviceRequest {
	return where(r, "profile == '"+profile+"'")
}

// runs creates a pod with a claim of these requests, and waits until the pod runs.
func (f *fixture) runs(ctx context.Context, name, queue string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	GinkgoHelper()
	f.claim(ctx, name, requests...)
	f.pod(ctx, name, queue, using(name))
	f.expectPodRuns(ctx, name)
	return must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, name, metav1.GetOptions{}))
}

// refused creates a pod with a claim of these requests, and waits until an event says why it waits.
func (f *fixture) refused(ctx context.Context, name, queue, reason, message string, requests ...resourcev1.DeviceRequest) {
	GinkgoHelper()
	f.claim(ctx, name, requests...)
	f.pod(ctx, name, queue, using(name))
	f.expectPodRefused(ctx, name, reason, message)
}

var _ = Describe("The devices of NVIDIA's driver", func() {
	It("count by the names of its classes and capacities, and a GPU and its partitions are never handed out together", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limits(capability(nvidiaGPU, 1, "memory", "80Gi"), capability(nvidiaMIG, 4, "memory", "60Gi", "multiprocessors", "200")))
		publishNVIDIA(ctx)

		gpu := f.runs(ctx, "gpu", queue, where(exactly(nvidiaGPU, 1), "uuid == 'GPU-0'")).Status.Allocation.Devices.Results[0].Device
		f.refused(ctx, "more", queue, "InsufficientScalarQuota", insufficient(queue, nvidiaGPU, 1, 2, 1), exactly(nvidiaGPU, 1))
		f.runs(ctx, "small", queue, ofProfile(exactly(nvidiaMIG, 2), "1g.10gb"))

		By("a partition of another size, at another place of the same GPU")
		large := f.runs(ctx, "large", queue, ofProfile(exactly(nvidiaMIG, 1), "3g.40gb")).Status.Allocation.Devices.Results[0].Device
		Expect(large).NotTo(HavePrefix(gpu+"-"), "a partition of a GPU that is handed out as a whole")
		expectAllocated(ctx, queue, nvidiaGPU+"/count", 1, nvidiaGPU+"/memory", "80Gi",
			nvidiaMIG+"/count", 3, nvidiaMIG+"/memory", "60Gi", nvidiaMIG+"/multiprocessors", 92)
		f.refused(ctx, "second", queue, "InsufficientScalarQuota", "insufficient <"+nvidiaMIG+"/memory> quota: requested <10GiB>, total would be <70GiB>, but capability is <60GiB>",
			ofProfile(exactly(nvidiaMIG, 1), "1g.10gb"))

		By("a queue without limits gets no GPU whose partitions are in use")
		others := f.queue(ctx, "others", "root", nil)
		f.refused(ctx, "whole", others, "InsufficientDevices", "", where(exactly(nvidiaGPU, 1), "uuid != 'GPU-2'"))
	})

	It("can be limited for virtual machines and compute domains, and administrators see all of them", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limits(capability(nvidiaVFIO, 1, "addressableMemory", "128Gi"), capability(nvidiaChannel, 1)))
		publishNVIDIA(ctx)
		claim := f.runs(ctx, "vm", queue, named("gpu", exactly(nvidiaVFIO, 1)), named("channel", exactly(nvidiaChannel, 1)))
		Expect(claim.Status.Allocation.Devices.Config).To(ConsistOf(HaveField("Source", BeEquivalentTo(resourcev1.AllocationConfigSourceClass))))
		expectAllocated(ctx, queue, nvidiaVFIO+"/count", 1, nvidiaVFIO+"/addressableMemory", "128Gi", nvidiaChannel+"/count", 1)
		f.refused(ctx, "second", queue, "InsufficientScalarQuota", insufficient(queue, nvidiaChannel, 1, 2, 1), exactly(nvidiaChannel, 1))

		namespace := must(kube.CoreV1().Namespaces().Get(ctx, f.namespace, metav1.GetOptions{}))
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, resourcev1.DRAAdminNamespaceLabelKey, "true")
		must(kube.CoreV1().Namespaces().Update(ctx, namespace, metav1.UpdateOptions{}))
		admin := all(nvidiaChannel)
		admin.Exactly.AdminAccess = ptr.To(true)
		f.runs(ctx, "watching", queue, admin)
	})
})

// The API server serves no DeviceTaintRules. Volcano's own cache would wait for them.
var _ = It("A GPU of NVIDIA's driver with a taint goes only to a claim that tolerates it", func(ctx context.Context) {
	tainting := must(cluster.Start(context.Background(), cluster.Options{
		APIServerArgs: []string{"--feature-gates=DRADeviceTaints=true"},
		SchedulerArgs: []string{"--schedule-period=20ms", "--feature-gates=DRADeviceTaints=true"},
	}))
	DeferCleanup(tainting.Stop)
	manifest := must(os.ReadFile(filepath.Join("testdata", "drivers", "nvidia.yaml")))
	Expect(tainting.ApplyYAML(ctx, "nvidia.yaml", manifest)).To(Succeed())
	f := &fixture{namespace: metav1.NamespaceDefault, kube: kubernetes.NewForConfigOrDie(tainting.Config())}

	unhealthy := exactly(nvidiaGPU, 1)
	unhealthy.Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.attributes['gpu.nvidia.com'].uuid == 'GPU-2'`}}}
	tolerant := *unhealthy.DeepCopy()
	tolerant.Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "gpu.nvidia.com/xid", Operator: resourcev1.DeviceTolerationOpExists}}
	for name, request := range map[string]resourcev1.DeviceRequest{"careful": unhealthy, "tolerant": tolerant} {
		must(f.kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: asking(request)}, metav1.CreateOptions{}))
	}
	f.pod(ctx, "careful", "default", using("careful"))
	Eventually(eventsFrom).WithContext(ctx).WithArguments(ctx, f.kube, f.namespace, "reason=InsufficientDevices,involvedObject.name=careful").ShouldNot(BeEmpty())
	f.pod(ctx, "tolerant", "default", using("tolerant"))
	f.expectPodRuns(ctx, "tolerant")
}, NodeTimeout(4*timeout))

var _ = Describe("The devices of the example driver", func() {
	It("count by its names, and the allocation has the configurations of the class and of the claim", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(exampleGPU, 2, "memory", "160Gi"))
		publishExample(ctx)
		opaque := resourcev1.DeviceClaimConfiguration{Requests: []string{"r"}, DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
			Driver: exampleGPU, Parameters: runtime.RawExtension{Raw: []byte(`{"apiVersion":"gpu.resource.example.com/v1alpha1","kind":"GpuConfig","sharing":{"strategy":"SpacePartitioning"}}`)},
		}}}
		spec := asking(exactly(exampleGPU, 2))
		spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "!device.allowMultipleAllocations"}}}
		spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{opaque}
		must(kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: spec}, metav1.CreateOptions{}))
		f.pod(ctx, "two", queue, using("two"))
		f.expectPodRuns(ctx, "two")
		claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "two", metav1.GetOptions{}))
		config := claim.Status.Allocation.Devices.Config
		Expect(config).To(HaveLen(2))
		Expect(config[0]).To(And(HaveField("Source", BeEquivalentTo(resourcev1.AllocationConfigSourceClass)), HaveField("Requests", []string{"r"})))
		Expect(string(config[0].Opaque.Parameters.Raw)).To(ContainSubstring("TimeSlicing"))
		Expect(config[1]).To(And(HaveField("Source", BeEquivalentTo(resourcev1.AllocationConfigSourceClaim)), HaveField("Requests", []string{"r"})))
		Expect(string(config[1].Opaque.Parameters.Raw)).To(ContainSubstring("SpacePartitioning"))
		expectAllocated(ctx, queue, exampleGPU+"/count", 2, exampleGPU+"/memory", "160Gi")
		f.refused(ctx, "third", queue, "InsufficientScalarQuota", insufficient(queue, exampleGPU, 1, 3, 2), exactly(exampleGPU, 1))
	})

	It("can be shared, within the quota and within the device", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(exampleShared, 8, "memory", "60Gi"))
		publishExample(ctx)
		f.runs(ctx, "first", queue, sized(exactly(exampleShared, 1), "memory", "37Gi"))
		f.runs(ctx, "default", queue, exactly(exampleShared, 1))
		expectAllocated(ctx, queue, exampleShared+"/count", 2, exampleShared+"/memory", "50Gi")
		f.refused(ctx, "large", queue, "InsufficientScalarQuota", "insufficient <"+exampleShared+"/memory> quota", sized(exactly(exampleShared, 1), "memory", "15Gi"))
		f.refused(ctx, "elsewhere", f.queue(ctx, "others", "root", nil), "InsufficientDevices", "", sized(exactly(exampleShared, 1), "memory", "35Gi"))
	})
})

var _ = Describe("Several DeviceClasses with the same extended resource", func() {
	It("the class that does not offer it is told which one does", func(ctx context.Context) {
		f := newFixture(ctx)
		resource := f.namespace + ".example.com/gpu"
		offering := func(class *resourcev1.DeviceClass) { class.Spec.ExtendedResourceName = &resource }
		first, second := f.model(ctx, "first", offering), f.model(ctx, "second", offering)
		Eventually(eventsIn).WithContext(ctx).WithArguments(ctx, metav1.NamespaceDefault, "reason=ExtendedResourceContested").Should(ContainElement(
			names("extended resource "+resource, first, second, "remove spec.extendedResourceName from one of the classes")))
	})
})
