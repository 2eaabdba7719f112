// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/capabilities/volumebinding"
)

// TestVolumesThatClaimsHaveAreNotSearched: for each claim that waits for its pod, upstream's plugin lists the volumes of its class, and looks at all of them on each node.
func TestVolumesThatClaimsHaveAreNotSearched(t *testing.T) {
	cache := schedulercache.NewDefaultMockSchedulerCache("volcano")
	if err := setTakenApart(cache); err != nil {
		t.Fatal(err)
	}
	informer := cache.SharedInformerFactory().Core().V1().PersistentVolumes().Informer()
	seen := volumebinding.NewPVAssumeCache(klog.Background(), informer)
	cache.Run(t.Context().Done())
	volumes := cache.Client().CoreV1().PersistentVolumes()
	eventually(t, "volumes are not watched", func() bool { return watched(cache.Client().(*fake.Clientset), "persistentvolumes") })
	kept, had := &corev1.ObjectReference{Namespace: "ns", Name: "c"}, &corev1.ObjectReference{Namespace: "ns", Name: "c", UID: "uid"}
	for _, v := range []struct {
		name, annotated string
		phase           corev1.PersistentVolumePhase
		claim           *corev1.ObjectReference
	}{
		{"available", "", corev1.VolumeAvailable, nil}, {"being made", "", corev1.VolumePending, had}, {"bound", "", corev1.VolumeBound, had},
		{"bound, of an old class", "fast", corev1.VolumeBound, had}, {"failed", "", corev1.VolumeFailed, had}, {"kept", "", corev1.VolumeAvailable, kept},
		{"of an old class", "fast", corev1.VolumeAvailable, nil}, {"released", "", corev1.VolumeReleased, had},
	} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.name, ResourceVersion: "1"}, Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "fast", ClaimRef: v.claim}, Status: corev1.PersistentVolumeStatus{Phase: v.phase}}
		if v.annotated != "" {
			volume.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: v.annotated}
		}
		if _, err := volumes.Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a volume is not known: "+v.name, func() bool { _, err := seen.GetPV(v.name); return err == nil })
	}
	searched := func() (names []string) {
		for _, volume := range seen.ListPVs("fast") {
			names = append(names, volume.Name)
		}
		slices.Sort(names)
		return names
	}
	if got, want := searched(), []string{"available", "being made", "kept", "of an old class"}; !slices.Equal(got, want) {
		t.Errorf("%q are searched, want %q", got, want)
	}

	released, err := volumes.Get(t.Context(), "released", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	released.Spec.ClaimRef, released.Status.Phase, released.ResourceVersion = nil, corev1.VolumeAvailable, "2"
	if _, err := volumes.Update(t.Context(), released, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a volume is available again, and is not searched", func() bool { return slices.Contains(searched(), "released") })
}
