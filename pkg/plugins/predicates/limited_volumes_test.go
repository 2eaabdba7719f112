// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"
)

// lookedAt is a Filter that notes which volumes and which VolumeAttachments it would look at, and how many terms of affinity were parsed for that.
type lookedAt struct {
	k8sframework.FilterPlugin
	made, terms          int
	attachments, volumes []string
}

func (l *lookedAt) Filter(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	l.volumes = nil
	for _, pod := range node.GetPods() {
		l.terms += len(pod.GetRequiredAffinityTerms())
		for _, volume := range pod.GetPod().Spec.Volumes {
			l.volumes = append(l.volumes, volume.Name)
		}
	}
	return nil
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid"}
}

// limitedDisks has a node with a limit of disks and of the driver that has taken the place of an older one, and none of files. There are claims with and without a
// volume of each.
func limitedDisks() informers.SharedInformerFactory {
	factory, limit := informers.NewSharedInformerFactory(fake.NewClientset(), 0), &storagev1.VolumeNodeResources{Count: ptr.To[int32](8)}
	core, storage := factory.Core().V1(), factory.Storage().V1()
	nodes, classes, attachments := storage.CSINodes().Informer().GetIndexer(), storage.StorageClasses().Informer().GetIndexer(), storage.VolumeAttachments().Informer().GetIndexer()
	volumes, claims := core.PersistentVolumes().Informer().GetIndexer(), core.PersistentVolumeClaims().Informer().GetIndexer()
	_ = nodes.Add(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "disks.example.com", Allocatable: limit}, {Name: "files.example.com"}, {Name: "pd.csi.storage.gke.io", Allocatable: limit}}}})
	for class, provisioner := range map[string]string{"disk": "disks.example.com", "files": "files.example.com", "old": "kubernetes.io/gce-pd"} {
		_ = classes.Add(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: provisioner})
		_ = claims.Add(&corev1.PersistentVolumeClaim{ObjectMeta: named("await-" + class), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}})
		_ = claims.Add(&corev1.PersistentVolumeClaim{ObjectMeta: named("have-" + class), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: class}})
		bound := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: class}}
		if bound.Spec.CSI = (&corev1.CSIPersistentVolumeSource{Driver: provisioner}); class == "old" {
			bound.Spec.CSI, bound.Spec.GCEPersistentDisk = nil, &corev1.GCEPersistentDiskVolumeSource{PDName: "x"}
		}
		_ = volumes.Add(bound)
	}
	for i, a := range []storagev1.VolumeAttachmentSpec{{NodeName: "n1", Attacher: "disks.example.com"}, {NodeName: "n1", Attacher: "files.example.com"}, {NodeName: "n2", Attacher: "disks.example.com"}} {
		_ = attachments.Add(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", i)}, Spec: a})
	}
	return factory
}

func podWith(name string, claims ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: named(name)}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	return pod
}

// TestOnlyVolumesWithALimitAreCounted: upstream's plugin looks at all volumes of the pods of a node, and at all VolumeAttachments, for each waiting pod. Who may create
// claims may have any number of volumes without a limit.
func TestOnlyVolumesWithALimitAreCounted(t *testing.T) {
	looked := &lookedAt{}
	counts := newLimitedVolumes(nil, limitedDisks())
	counts.upstream = func(attachments []*storagev1.VolumeAttachment) (k8sframework.FilterPlugin, error) {
		looked.made++
		for _, a := range attachments {
			looked.attachments = append(looked.attachments, a.Name)
		}
		return looked, nil
	}
	runs := podWith("runs", "await-disk", "await-files", "await-old", "have-disk", "have-files", "have-old", "missing")
	runs.Spec.Volumes = append(runs.Spec.Volumes, corev1.Volume{Name: "disk in the pod", VolumeSource: corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "y"}}},
		corev1.Volume{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	runs.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
	node := k8sframework.NewNodeInfo(runs)
	node.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})

	if counts.Filter(t.Context(), nil, podWith("without"), node); looked.made != 0 {
		t.Error("volumes are counted for a pod without any")
	}
	for range 2 {
		counts.Filter(t.Context(), nil, podWith("waits", "await-files"), node)
		want := []string{"await-disk", "await-old", "have-disk", "have-old", "disk in the pod"}
		if looked.made != 1 || !slices.Equal(looked.volumes, want) || !slices.Equal(looked.attachments, []string{"a0"}) {
			t.Errorf("counted %d times, the volumes are %q, want %q, and the attachments %q, want a0", looked.made, looked.volumes, want, looked.attachments)
		}
	}
	if looked.terms > 0 {
		t.Error("the affinity of pods is parsed to count their volumes")
	}
	if err := node.RemovePod(klog.Background(), runs); err != nil {
		t.Fatal(err)
	}
	if counts.Filter(t.Context(), nil, podWith("waits", "await-files"), node); len(looked.volumes) > 0 {
		t.Errorf("%q are counted after their pod has left", looked.volumes)
	}
}
