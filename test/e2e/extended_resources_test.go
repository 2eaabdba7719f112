// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var _ = Describe("A pod that requests an extended resource of a DeviceClass", func() {
	It("runs unchanged, with devices in a claim as kube-scheduler makes it", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(4, "gpu", bytes("80Gi"))...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 2, limit(class, 2, "memory", "160Gi"))
		before := f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "user")

		pod := f.getPod(ctx, "user")
		before.Spec.NodeName = f.name("n")
		Expect(pod.Spec).To(Equal(before.Spec))
		claim := f.extendedClaim(ctx, pod)
		Expect(pod.Status.ExtendedResourceClaimStatus.RequestMappings).To(Equal([]corev1.ContainerExtendedResourceRequest{
			{ContainerName: "main", ResourceName: string(f.gpu()), RequestName: "container-0-request-0"},
		}))
		Expect(claim.GenerateName).To(Equal("user-extended-resources-"))
		Expect(claim.Name).To(HavePrefix(claim.GenerateName))
		Expect(claim.Annotations).To(HaveKeyWithValue(resourcev1.ExtendedResourceClaimAnnotation, "true"))
		Expect(claim.OwnerReferences).To(ConsistOf(SatisfyAll(
			HaveField("APIVersion", "v1"), HaveField("Kind", "Pod"), HaveField("Name", "user"), HaveField("UID", pod.UID), HaveField("Controller", HaveValue(BeTrue())))))
		Expect(claim.Finalizers).To(ContainElement(resourcev1.Finalizer))
		Expect(claim.Spec.Devices.Requests).To(Equal([]resourcev1.DeviceRequest{named("container-0-request-0", exactly(class, 2))}))
		Expect(claim.Status.Allocation).NotTo(BeNil())
		Expect(claim.Status.Allocation.Devices.Results).To(HaveLen(2))
		for _, result := range claim.Status.Allocation.Devices.Results {
			Expect(result).To(SatisfyAll(HaveField("Request", "container-0-request-0"), HaveField("Driver", f.driver()), HaveField("Pool", f.name("n"))))
		}
		Expect(claim.Status.ReservedFor).To(Equal([]resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "user", UID: pod.UID}}))
		f.expectClaims(ctx, 1)
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue, class+"/count", 2, class+"/memory", "160Gi")
	})

	DescribeTable("gives its devices and its quota back when it", func(ctx context.Context, end func(context.Context, *fixture)) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 2, limit(class, 2))
		watch := f.watchHolders()
		f.pod(ctx, "first", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "first")
		f.pod(ctx, "second", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "second", Or(ContainSubstring(insufficient(queue, string(f.gpu()), 2, 4, 2)), ContainSubstring(insufficient(queue, class, 2, 4, 2))))
		end(ctx, f)
		f.expectPodRuns(ctx, "second")
		f.expectClaims(ctx, 1)
		expectCharge(ctx, queue, f.gpu(), 2)
		f.deletePod(ctx, "second")
		f.expectClaims(ctx, 0)
		expectCharge(ctx, queue, f.gpu(), 0)
		expectAllocated(ctx, queue)
		Expect([]int{watch.most(class), len(watch.shared())}).To(Equal([]int{2, 0}), "most devices in use at a time, and devices of two claims")
	},
		Entry("is deleted", func(ctx context.Context, f *fixture) { f.deletePod(ctx, "first") }),
		Entry("succeeds", func(ctx context.Context, f *fixture) {
			f.patchPodStatus(ctx, "first", `{"status":{"phase":"Succeeded"}}`)
		}),
		Entry("fails", func(ctx context.Context, f *fixture) { f.patchPodStatus(ctx, "first", `{"status":{"phase":"Failed"}}`) }),
	)

	It("may use the name that every class has", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu")
		name := corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + class)
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 3))
		f.pod(ctx, "user", queue, needing(name, 2))
		f.expectPodRuns(ctx, "user")
		claim := f.extendedClaim(ctx, f.getPod(ctx, "user"))
		Expect(claim.Spec.Devices.Requests).To(Equal([]resourcev1.DeviceRequest{named("container-0-request-0", exactly(class, 2))}))
		expectAllocated(ctx, queue, class+"/count", 2)

		By("limiting it by this name, which stands for the class")
		byName := f.atMostOf(ctx, "name", "root", name, 1, nil)
		f.pod(ctx, "limited", byName, needing(name, 2))
		f.expectPodExplained(ctx, "limited", ContainSubstring(insufficient(byName, class, 2, 2, 1)))
		f.deletePod(ctx, "limited")

		By("counting both names of a class for its quota")
		changeClass(ctx, class, offering(f.gpu()))
		f.pod(ctx, "both", queue, func(spec *corev1.PodSpec) {
			needing(f.gpu(), 1)(spec)
			needing(name, 1)(spec)
		})
		f.expectPodExplained(ctx, "both", ContainSubstring(insufficient(queue, class, 2, 4, 3)))
		setQuota(ctx, queue, limit(class, 4))
		f.expectPodRuns(ctx, "both")
		expectAllocated(ctx, queue, class+"/count", 4)
	})
})

// containers has the requests of a pod's containers for one or two extended resources, and the expected result.
type containers struct {
	name string
	// init and main are the requested gpus of the containers. Sidecars are the init containers that always restart.
	init, main []int64
	sidecars   []int
	// nics is the request of the first main container for another extended resource.
	nics int64
	// requests are the names of the claim's requests with their counts, and mappings are "container resource request". Both are nil if they
	// depend on the version of Kubernetes.
	requests map[string]int64
	mappings []string
	charged  int
}

// Each container also requests cpu, which sorts first. An API server of 1.34 accepts one request for each container and resource, later
// ones accept several.
var _ = DescribeTable("The extended claim of a pod has devices for", func(ctx context.Context, c containers) {
	f := newFixture(ctx)
	gpu, nic := f.model(ctx, "gpu", offering(f.gpu())), f.model(ctx, "nic", offering(f.nic()))
	f.node(ctx, "n", append(devices(6, "gpu", nil), devices(2, "nic", nil)...)...)
	queue := f.queue(ctx, "team", "root", limits(capability(gpu, 6), capability(nic, 2)))
	before := f.pod(ctx, "user", queue, c.spec(f))
	f.expectPodRuns(ctx, "user")

	pod := f.getPod(ctx, "user")
	before.Spec.NodeName = pod.Spec.NodeName
	Expect(pod.Spec).To(Equal(before.Spec))
	claim, requests, mappings := f.extendedClaim(ctx, pod), map[string]int64{}, []string{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		requests[result.Request]++
	}
	for _, m := range pod.Status.ExtendedResourceClaimStatus.RequestMappings {
		mappings = append(mappings, m.ContainerName+" "+m.ResourceName[len(f.driver())+1:]+" "+m.RequestName)
	}
	c.expectDevices(pod, f.gpu(), requests)
	if c.requests != nil {
		Expect(requests).To(Equal(c.requests))
		Expect(mappings).To(ConsistOf(c.mappings))
	}
	expectCharge(ctx, queue, f.gpu(), c.charged)
	expectCharge(ctx, queue, f.nic(), int(c.nics))
	want := map[string]int{}
	for _, request := range claim.Spec.Devices.Requests {
		want[request.Exactly.DeviceClassName+"/count"] += int(request.Exactly.Count)
	}
	if c.nics > 0 {
		expectAllocated(ctx, queue, gpu+"/count", want[gpu+"/count"], nic+"/count", int(c.nics))
	} else {
		expectAllocated(ctx, queue, gpu+"/count", want[gpu+"/count"])
	}
},
	func(c containers) string { return c.name },
	Entry(nil, containers{
		name: "several containers", main: []int64{1, 0, 2},
		requests: map[string]int64{"container-0-request-1": 1, "container-2-request-1": 2},
		mappings: []string{"main-0 gpu container-0-request-1", "main-2 gpu container-2-request-1"}, charged: 3,
	}),
	Entry(nil, containers{
		name: "two resources", main: []int64{2}, nics: 1,
		requests: map[string]int64{"container-0-request-1": 2, "container-0-request-2": 1},
		mappings: []string{"main-0 gpu container-0-request-1", "main-0 nic container-0-request-2"}, charged: 2,
	}),
	Entry(nil, containers{
		name: "an init container that needs no more than the container after it", init: []int64{1}, main: []int64{2},
		requests: map[string]int64{"container-1-request-1": 2},
		mappings: []string{"main-0 gpu container-1-request-1", "init-0 gpu container-1-request-1"}, charged: 2,
	}),
	Entry(nil, containers{
		name: "init containers that need more than the container after them", init: []int64{2, 3}, main: []int64{1},
		charged: 4,
	}),
	Entry(nil, containers{
		name: "a sidecar, which runs beside the others", init: []int64{1, 2}, sidecars: []int{0}, main: []int64{1},
		charged: 4,
	}),
)

// expectDevices checks that each container has at least its requested devices, and that containers that run at the same time share
// none. Requests has the number of devices of each request.
func (c containers) expectDevices(pod *corev1.Pod, name corev1.ResourceName, requests map[string]int64) {
	GinkgoHelper()
	has, lasting := map[string]int64{}, map[string]string{}
	for _, m := range pod.Status.ExtendedResourceClaimStatus.RequestMappings {
		if m.ResourceName == string(name) {
			has[m.ContainerName] += requests[m.RequestName]
		}
	}
	for i := range slices.Concat(c.init, c.main) {
		container := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)[i]
		asked := container.Resources.Requests[name]
		Expect(has[container.Name]).To(BeNumerically(">=", asked.Value()), "devices of container %s", container.Name)
		if i < len(c.init) && !slices.Contains(c.sidecars, i) {
			continue
		}
		for _, m := range pod.Status.ExtendedResourceClaimStatus.RequestMappings {
			if m.ContainerName == container.Name {
				Expect(lasting).NotTo(HaveKey(m.RequestName), "containers with the devices of a request")
				lasting[m.RequestName] = container.Name
			}
		}
	}
}

// nic returns the name of another extended resource of the case. It sorts after gpu.
func (f *fixture) nic() corev1.ResourceName { return corev1.ResourceName(f.driver() + "/nic") }

func (c containers) spec(f *fixture) func(*corev1.PodSpec) {
	container := func(name string, gpus int64) corev1.Container {
		made := corev1.Container{Name: name, Image: "registry.example.com/main:v1"}
		ask(&made, corev1.ResourceCPU, 1)
		if gpus > 0 {
			ask(&made, f.gpu(), gpus)
		}
		return made
	}
	return func(spec *corev1.PodSpec) {
		spec.Containers = nil
		for i, n := range c.init {
			spec.InitContainers = append(spec.InitContainers, container(fmt.Sprint("init-", i), n))
		}
		for _, i := range c.sidecars {
			spec.InitContainers[i].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		for i, n := range c.main {
			spec.Containers = append(spec.Containers, container(fmt.Sprint("main-", i), n))
		}
		if c.nics > 0 {
			ask(&spec.Containers[0], f.nic(), c.nics)
		}
	}
}

var _ = Describe("Pods that a controller creates", func() {
	It("get devices for their extended resource, each its own claim", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 4))
		watch := f.watchHolders()
		f.cardJob(ctx, "job", queue, cardTask{resource: f.gpu(), count: 2, pods: 2})
		f.expectRunning(ctx, "job", 2)
		f.expectClaims(ctx, 2)
		f.expectDevicesOnce(ctx)
		f.deleteJob(ctx, "job")
		f.expectClaims(ctx, 0)
		f.cardJob(ctx, "again", queue, cardTask{resource: f.gpu(), pods: 4, runFor: "500ms"})
		f.expectSucceeded(ctx, "again", 4)
		expectAllocated(ctx, queue)
		expectCharge(ctx, queue, f.gpu(), 0)
		f.expectClaims(ctx, 0)
		Expect(watch.most(class)).To(Equal(4))
		Expect(watch.shared()).To(BeEmpty())
		Expect(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})).To(HaveField("Items", HaveEach(HaveField("Spec.ResourceClaims", BeEmpty()))))
	})
})
