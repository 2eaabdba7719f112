// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// Labels for the components on a node: the device plugin of NVIDIA's GPU operator, and NVIDIA's DRA driver.
const (
	runsDevicePlugin = "nvidia.com/gpu.deploy.device-plugin"
	runsDriver       = "nvidia.com/dra-kubelet-plugin"
)

// poolHardware simulates kubelets with a device plugin and a DRA driver on kwok's nodes. The labels of a node say which of them run there.
type poolHardware struct {
	ctx    context.Context
	driver string
	// cards is the number of cards of each node.
	cards int
}

// playHardware simulates the hardware of some nodes until the spec ends.
func playHardware(driver string, cards int, nodes ...string) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &poolHardware{ctx, driver, cards}
	factory := informers.NewSharedInformerFactory(kube, 0)
	mine := map[string]bool{}
	for _, name := range nodes {
		mine[name] = true
		DeferCleanup(kube.ResourceV1().ResourceSlices().DeleteCollection, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	}
	DeferCleanup(func() { // before the slices are deleted, because none may be created afterwards
		cancel()
		factory.Shutdown()
	})
	see := func(obj any) {
		defer GinkgoRecover()
		if name := obj.(*corev1.Node).Name; mine[name] {
			h.play(name)
		}
	}
	must(factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) },
	}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

// play applies the current labels of a node, which may be newer than an event.
func (h *poolHardware) play(name string) {
	node, err := kube.CoreV1().Nodes().Get(h.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || h.ctx.Err() != nil {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	plugin, driver := node.Labels[runsDevicePlugin] == "true", node.Labels[runsDriver] == "true"
	Expect(plugin && driver).To(BeFalse(), "node %s hands out its cards twice", node.Name)
	capacity, listed := node.Status.Capacity[gpus]
	switch {
	case plugin:
		h.list(node, h.cards, h.cards)
	case listed && capacity.Value() > 0:
		// A kubelet acts like this: without their plugin, the cards are unhealthy, and are forgotten some minutes later. The resource stays listed.
		h.list(node, h.cards, 0)
		h.list(node, 0, 0)
	}
	if driver {
		h.publish(name)
	} else {
		h.check(kube.ResourceV1().ResourceSlices().DeleteCollection(h.ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}))
	}
}

// check fails the spec if a write failed before the spec ended.
func (h *poolHardware) check(err error) {
	if h.ctx.Err() == nil {
		Expect(err).NotTo(HaveOccurred())
	}
}

// list sets the cards of a device plugin in the status of a node.
func (h *poolHardware) list(node *corev1.Node, capacity, allocatable int) {
	if c, a := node.Status.Capacity[gpus], node.Status.Allocatable[gpus]; c.Value() == int64(capacity) && a.Value() == int64(allocatable) {
		return
	}
	patch := must(json.Marshal(map[string]any{"status": map[string]any{
		"capacity": map[string]string{gpus: fmt.Sprint(capacity)}, "allocatable": map[string]string{gpus: fmt.Sprint(allocatable)},
	}}))
	_, err := kube.CoreV1().Nodes().Patch(h.ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	h.check(err)
}

// publish creates the ResourceSlice of a node.
func (h *poolHardware) publish(node string) {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + h.driver},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: h.driver, NodeName: ptr.To(node), Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for i := range h.cards {
		d := device(fmt.Sprint("gpu-", i), "any", bytes("80Gi"))
		d.Attributes["type"] = resourcev1.DeviceAttribute{StringValue: ptr.To("gpu")}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}
	_, err := kube.ResourceV1().ResourceSlices().Create(h.ctx, slice, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		h.check(err)
	}
}
