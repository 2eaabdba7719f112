// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// cardNodeOf is a node with cards of a model.
func cardNodeOf(name, model string, count int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": model}},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{"nvidia.com/gpu": quantity(count), "cpu": quantity(64)}},
	}
}

// cardPodOn is a pod that requests cards.
func cardPodOn(name, node string, count int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity(1)}}},
			{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": quantity(count)}}},
		}},
	}
}

// deviceOf is a device with a model and, if that is not empty, memory.
func deviceOf(name, model, memory string) resourceapi.Device {
	d := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: &model}}}
	if memory != "" {
		d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}
	}
	return d
}

func sliceOf(devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice"},
		Spec:       resourceapi.ResourceSliceSpec{Driver: "gpu.example.com", NodeName: ptr.To("n"), Pool: resourceapi.ResourcePool{Name: "n", ResourceSliceCount: 1}, Devices: devices},
	}
}

// classOf is a DeviceClass of the devices of a model, or of all devices if the model is empty.
func classOf(name, model string) *resourceapi.DeviceClass {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if model != "" {
		expression := fmt.Sprintf(`device.attributes["gpu.example.com"].model == %q`, model)
		class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
	}
	return class
}

// claimOf is a claim that has devices.
func claimOf(name string, devices ...string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	claim.Status.Allocation = &resourceapi.AllocationResult{}
	for _, device := range devices {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "gpu.example.com", Pool: "n", Device: device})
	}
	return claim
}

// text has total and use of each dimension.
func text(f figures) map[string]string {
	words := map[string]string{}
	for d, amounts := range f {
		words[d.String()] = d.Format(amounts.used) + " of " + d.Format(amounts.total)
	}
	return words
}

func TestCardsAreThoseOfNodesWithoutThoseOfTheirPods(t *testing.T) {
	c := newCardCount(nil)
	set := func(pod *corev1.Pod) {
		stripped, err := strip(pod)
		if err != nil {
			t.Fatal(err)
		}
		c.setPod(pod.Namespace+"/"+pod.Name, stripped.(*corev1.Pod))
	}
	ended := cardPodOn("b", "n2", 4)
	ended.Status.Phase = corev1.PodSucceeded
	for _, step := range []struct {
		name string
		do   func()
		want map[string]string
	}{
		{"a pod comes before its node", func() { set(cardPodOn("a", "n1", 2)) }, map[string]string{}},
		{"its node comes", func() { c.setNode(cardNodeOf("n1", "H20", 8)) }, map[string]string{"H20": "2 of 8"}},
		{"another node comes", func() { c.setNode(cardNodeOf("n2", "H20", 4)) }, map[string]string{"H20": "2 of 12"}},
		{"a pod comes there", func() { set(cardPodOn("b", "n2", 4)) }, map[string]string{"H20": "6 of 12"}},
		{"a pod without a node comes", func() { set(cardPodOn("c", "", 4)) }, map[string]string{"H20": "6 of 12"}},
		{"the node gets other cards", func() { c.setNode(cardNodeOf("n2", "A100", 4)) }, map[string]string{"H20": "2 of 8", "A100": "4 of 4"}},
		{"the pod ends", func() { set(ended) }, map[string]string{"H20": "2 of 8", "A100": "0 of 4"}},
		{"a node goes before its pod", func() { c.removeNode("n1") }, map[string]string{"A100": "0 of 4"}},
		{"the pod goes", func() { c.removePod("ns/a") }, map[string]string{"A100": "0 of 4"}},
		{"everything goes", func() { c.removeNode("n2"); c.removeNode("n3"); c.removePod("ns/x") }, map[string]string{}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, text(c.amounts)); diff != "" {
			t.Errorf("%s:\n%s", step.name, diff)
		}
	}
	if len(c.nodes) != 0 || len(c.pods) != 0 {
		t.Errorf("left over: nodes %v, pods %v", c.nodes, c.pods)
	}
}

func TestWhateverHappensToNodesAndPodsTheCardsAreTheirSum(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewSource(seed))
	c := newCardCount(nil)
	nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	for range 5000 {
		name := fmt.Sprintf("n%d", random.Intn(4))
		pod := fmt.Sprintf("p%d", random.Intn(8))
		switch random.Intn(4) {
		case 0:
			nodes[name] = cardNodeOf(name, []string{"H20", "A100"}[random.Intn(2)], random.Int63n(9))
			c.setNode(nodes[name])
		case 1:
			delete(nodes, name)
			c.removeNode(name)
		case 2:
			stripped, _ := strip(cardPodOn(pod, name, random.Int63n(3)))
			pods[pod] = stripped.(*corev1.Pod)
			c.setPod("ns/"+pod, pods[pod])
		case 3:
			delete(pods, pod)
			c.removePod("ns/" + pod)
		}
	}
	want := newCardCount(nil)
	for _, node := range nodes {
		want.setNode(node)
	}
	for name, pod := range pods {
		want.setPod("ns/"+name, pod)
	}
	if diff := cmp.Diff(text(want.amounts), text(c.amounts)); diff != "" {
		t.Errorf("seed %d:\n%s", seed, diff)
	}
}

func TestDevicesAreThoseThatMatchTheClassWithoutThoseOfClaims(t *testing.T) {
	named := classOf("h20", "H20")
	named.Annotations = map[string]string{card.NameAnnotation: "NVIDIA-H20"}
	catalog := dra.NewCatalog([]*resourceapi.DeviceClass{classOf("any", ""), named, classOf("a100", "A100"), classOf("unasked", "")},
		[]*resourceapi.ResourceSlice{sliceOf(deviceOf("d1", "H20", "96Gi"), deviceOf("d2", "H20", "96Gi"), deviceOf("d3", "A100", ""))})
	c := newDeviceCount()
	c.use(catalog, []string{"a100", "any", "gone"}, map[string]*resourceapi.ResourceClaim{"ns/a": claimOf("a", "d1")})
	memory := func(class, figure string) map[string]string {
		return map[string]string{class + "/memory": figure, class + "/gpu.example.com/memory": figure}
	}
	want := map[string]string{"any": "1 of 3", "h20": "1 of 2", "NVIDIA-H20": "1 of 2", "a100": "0 of 1"}
	for _, more := range []map[string]string{memory("any", "96GiB of 192GiB"), memory("h20", "96GiB of 192GiB")} {
		for name, figure := range more {
			want[name] = figure
		}
	}
	if diff := cmp.Diff(want, text(c.amounts)); diff != "" {
		t.Error(diff)
	}
	c.set("ns/a", nil)
	c.set("ns/b", claimOf("b", "d3", "unpublished"))
	admin := claimOf("admin", "d2")
	admin.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
	c.set("ns/admin", admin)
	c.set("ns/pending", &resourceapi.ResourceClaim{})
	for name, want := range map[string]string{"any": "1 of 3", "h20": "0 of 2", "a100": "1 of 1", "any/memory": "0 of 192GiB"} {
		if got := text(c.amounts)[name]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestTheNumberOfSharedDevicesBoundsNothing(t *testing.T) {
	device := deviceOf("d1", "H20", "96Gi")
	device.AllowMultipleAllocations = ptr.To(true)
	claim := claimOf("a", "d1")
	claim.Status.Allocation.Devices.Results[0].ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("40Gi")}
	c := newDeviceCount()
	c.use(dra.NewCatalog([]*resourceapi.DeviceClass{classOf("any", "")}, []*resourceapi.ResourceSlice{sliceOf(device)}), []string{"any"}, map[string]*resourceapi.ResourceClaim{"ns/a": claim})
	r := &hardware{looked: true, amounts: c.amounts, classes: c.classes, shared: c.shared}
	if got := r.bound(ledger.Dimension{Kind: ledger.DeviceCount, Name: "any"}); got != unknown {
		t.Errorf("the number is bound %d", got)
	}
	memory := ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "any", Capacity: "memory"}
	if got := text(c.amounts)[memory.String()]; r.bound(memory) != bounded || got != "40GiB of 96GiB" {
		t.Errorf("the memory is %s", got)
	}
}
