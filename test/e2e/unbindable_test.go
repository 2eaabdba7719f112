// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// padded returns requests for a device of a class. No device suits the first alternative, which has a number of capacities.
func padded(class string, capacities int) resourcev1.DeviceRequest {
	first := named("first", exactly(class, 1))
	first.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{}}
	for i := range capacities {
		first.Exactly.Capacity.Requests[resourcev1.QualifiedName(fmt.Sprintf("a%031d", i))] = resource.MustParse("1")
	}
	return firstAvailable(first, named("second", exactly(class, 1)))
}

// mostCapacities returns the largest number of capacities with which the API server stores a claim.
func mostCapacities(create func(size int) error, remove func() error) int {
	GinkgoHelper()
	stored, tooLarge := 0, 60000
	for tooLarge-stored > 1 {
		size := (stored + tooLarge) / 2
		if err := create(size); err != nil {
			Expect(err).To(MatchError(ContainSubstring("too large")))
			tooLarge = size
			continue
		}
		Expect(remove()).To(Succeed())
		stored = size
	}
	return stored
}

// Users can write objects that the API server stores, but not with what a scheduler adds to them.
var _ = Describe("What a user writes", func() {
	var (
		f             *fixture
		class         string
		team, another string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu")
		f.node(ctx, "n", devices(1, "gpu", nil)...)
		team, another = f.queue(ctx, "team", "root", limit(class, 1)), f.queue(ctx, "another", "root", limit(class, 1))
	})

	It("does not count for the room that the record of a pod needs, unless the pod has devices for it", func(ctx context.Context) {
		f.claim(ctx, "long", padded(class, 10000))
		f.pod(ctx, "runs", team, using("long"))
		f.expectPodRuns(ctx, "runs")
		killScheduler(ctx)
		expectAllocated(ctx, team, class+"/count", 1)
		f.claim(ctx, "more", exactly(class, 1))
		f.pod(ctx, "more", team, using("more"))
		f.expectPodExplained(ctx, "more", ContainSubstring(insufficient(team, class, 1, 2, 1)))
	})

	It("is a claim that cannot get devices, and its pods do not keep the devices from others", func(ctx context.Context) {
		claims := kube.ResourceV1().ResourceClaims(f.namespace)
		create := func(name string, size int) error {
			_, err := claims.Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: asking(padded(class, size))}, metav1.CreateOptions{})
			return err
		}
		size := mostCapacities(func(size int) error { return create("full-0", size) }, func() error { return claims.Delete(ctx, "full-0", metav1.DeleteOptions{}) })
		for i := range 4 {
			name := fmt.Sprint("full-", i)
			Expect(create(name, size)).To(Succeed())
			f.pod(ctx, name, team, using(name))
		}
		expectWarning(ctx, f.namespace, "Pod", "full-0", "FailedScheduling", "too large")
		f.claim(ctx, "fits", exactly(class, 1))
		f.pod(ctx, "fits", another, using("fits"))
		f.expectPodRuns(ctx, "fits")
	})

	It("is a size of a volume that takes minutes to compare, and other pods do not wait for it", func(ctx context.Context) {
		driver := f.name("csi.example.com")
		local := must(kube.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: driver},
			Provisioner: driver, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}, metav1.CreateOptions{}))
		DeferCleanup(kube.StorageV1().StorageClasses().Delete, local.Name, metav1.DeleteOptions{})
		attaches := must(kube.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: f.name("n")},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](8)}}}}},
			metav1.CreateOptions{}))
		DeferCleanup(kube.StorageV1().CSINodes().Delete, attaches.Name, metav1.DeleteOptions{})
		var volumes []corev1.Volume
		for name, size := range map[string]string{"usual": "1Gi", "huge": "1e2000000"} {
			must(kube.CoreV1().PersistentVolumeClaims(f.namespace).Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &local.Name,
					Resources: corev1.VolumeResourceRequirements{Requests: amount(corev1.ResourceStorage, size)}}}, metav1.CreateOptions{}))
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
		f.pod(ctx, "waits", another, func(spec *corev1.PodSpec) { spec.Volumes = volumes })
		f.expectPodExplained(ctx, "waits", ContainSubstring("PersistentVolumeClaim huge requests <100e1999998> of storage"))
		f.claim(ctx, "fits", exactly(class, 1))
		f.pod(ctx, "fits", team, using("fits"))
		f.expectPodRuns(ctx, "fits")
	})
})
