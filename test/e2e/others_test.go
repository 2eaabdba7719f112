// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Actions of other schedulers, drivers, and controllers.

// allocate allocates devices of a node to a claim, as a scheduler does.
func (f *fixture) allocate(ctx context.Context, claim *resourcev1.ResourceClaim, node string, names ...string) {
	f.allocateFrom(ctx, claim, f.driver(), node, names...)
}

func (f *fixture) allocateFrom(ctx context.Context, claim *resourcev1.ResourceClaim, driver, node string, names ...string) {
	claim = claim.DeepCopy()
	claim.Finalizers = []string{resourcev1.Finalizer}
	claim = must(kube.ResourceV1().ResourceClaims(f.namespace).Update(ctx, claim, metav1.UpdateOptions{}))
	claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{f.name(node)}}},
	}}}}
	for _, name := range names {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: claim.Spec.Devices.Requests[0].Name, Driver: driver, Pool: f.name(node), Device: name,
		})
	}
	must(kube.ResourceV1().ResourceClaims(f.namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}))
}

// stranger creates a pod that another scheduler has placed, and waits until its claim is reserved for it.
func (f *fixture) stranger(ctx context.Context, queue, claim, node string) {
	GinkgoHelper()
	f.pod(ctx, "stranger", queue, func(spec *corev1.PodSpec) {
		using(claim)(spec)
		spec.SchedulerName, spec.NodeName = "another-scheduler", f.name(node)
	})
	Eventually(func() []resourcev1.ResourceClaimConsumerReference { // Kubernetes' controller reserves claims for pods with a node
		return must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, claim, metav1.GetOptions{})).Status.ReservedFor
	}).WithContext(ctx).Should(HaveLen(1))
}

// dropFinalizers removes the finalizers of a claim, which may be gone already.
func (f *fixture) dropFinalizers(ctx context.Context, name string) {
	GinkgoHelper()
	claims := kube.ResourceV1().ResourceClaims(f.namespace)
	Eventually(func() error {
		claim, err := claims.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		claim.Finalizers = nil
		_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
		return ignoreNotFound(err)
	}).WithContext(ctx).Should(Succeed())
}

// boundVolume creates a PersistentVolumeClaim and binds it to a volume, as a controller does.
func (f *fixture) boundVolume(ctx context.Context, name string) {
	size, modes := amount(corev1.ResourceStorage, "1Gi"), []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim := must(kube.CoreV1().PersistentVolumeClaims(f.namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: f.name(name), StorageClassName: ptr.To(""),
			Resources: corev1.VolumeResourceRequirements{Requests: size}},
	}, metav1.CreateOptions{}))
	volume := must(kube.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: f.name(name)},
		Spec: corev1.PersistentVolumeSpec{AccessModes: modes, Capacity: size,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: f.namespace, Name: name, UID: claim.UID}},
	}, metav1.CreateOptions{}))
	DeferCleanup(func(ctx context.Context) error {
		return kube.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	})
	claim.Status.Phase = corev1.ClaimBound
	must(kube.CoreV1().PersistentVolumeClaims(f.namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}))
}

// nodeOf publishes devices of any driver that all nodes can reach.
func (f *fixture) nodeOf(ctx context.Context, driver, name string, all ...resourcev1.Device) {
	must(kube.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: f.name(name)},
		Spec: resourcev1.ResourceSliceSpec{Driver: driver, AllNodes: ptr.To(true),
			Pool: resourcev1.ResourcePool{Name: f.name(name), Generation: 1, ResourceSliceCount: 1}, Devices: all},
	}, metav1.CreateOptions{}))
	DeferCleanup(kube.ResourceV1().ResourceSlices().DeleteCollection, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=" + f.name(name)})
}
