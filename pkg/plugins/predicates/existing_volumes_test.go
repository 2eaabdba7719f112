// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	toolscache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// asked is a Filter that counts how often it is asked.
type asked struct {
	k8sframework.FilterPlugin
	times int
}

func (a *asked) Filter(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) *fwk.Status {
	a.times++
	return nil
}

func indexed(objects ...runtime.Object) toolscache.Indexer {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for _, object := range objects {
		_ = indexer.Add(object) // each has a name
	}
	return indexer
}

// TestOnlyNodesThatMayHaveTheVolumesAreAsked: upstream's plugin compares each claim with each volume of the class, for each node and in each cycle.
func TestOnlyNodesThatMayHaveTheVolumesAreAsked(t *testing.T) {
	classes := storagelisters.NewStorageClassLister(indexed(
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner"},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Provisioner: "csi.example.com"},
	))
	terms := func(requirements ...corev1.NodeSelectorRequirement) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: requirements}}}}
	}
	on := func(hosts ...string) *corev1.VolumeNodeAffinity {
		return terms(corev1.NodeSelectorRequirement{Key: "host", Operator: corev1.NodeSelectorOpIn, Values: hosts})
	}
	not := terms(corev1.NodeSelectorRequirement{Key: "host", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n1"}})
	volume := func(place *corev1.VolumeNodeAffinity, size string, ref *corev1.ObjectReference) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"disk": "ssd"}}, Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "local", NodeAffinity: place, ClaimRef: ref, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}
	}
	for name, c := range map[string]struct {
		class    string
		claims   int
		selector map[string]string
		volumes  []corev1.PersistentVolume
		want     int
	}{
		"the node has the volume":                 {"local", 1, nil, []corev1.PersistentVolume{volume(on("n0", "n1"), "1Gi", nil)}, 1},
		"the node has one of two":                 {"local", 2, nil, []corev1.PersistentVolume{volume(on("n1"), "1Gi", nil), volume(on("n2"), "1Gi", nil)}, 0},
		"the node has two":                        {"local", 2, nil, []corev1.PersistentVolume{volume(on("n1"), "1Gi", nil), volume(on("n1"), "2Gi", nil)}, 1},
		"another node has the volume":             {"local", 1, nil, []corev1.PersistentVolume{volume(on("n2"), "1Gi", nil)}, 0},
		"any node has the volume":                 {"local", 1, nil, []corev1.PersistentVolume{volume(nil, "1Gi", nil)}, 1},
		"a closer look is needed":                 {"local", 1, nil, []corev1.PersistentVolume{volume(not, "1Gi", nil)}, 1},
		"the volume is too small":                 {"local", 1, nil, []corev1.PersistentVolume{volume(on("n1"), "1Mi", nil)}, 0},
		"the volume is another claim's":           {"local", 1, nil, []corev1.PersistentVolume{volume(on("n1"), "1Gi", &corev1.ObjectReference{Namespace: "ns", Name: "other"})}, 0},
		"the volume is kept for the claim":        {"local", 1, nil, []corev1.PersistentVolume{volume(on("n1"), "1Mi", &corev1.ObjectReference{Namespace: "ns", Name: "c0"})}, 1},
		"the claim selects the volume":            {"local", 1, map[string]string{"disk": "ssd"}, []corev1.PersistentVolume{volume(on("n1"), "1Gi", nil)}, 1},
		"the claim selects another volume":        {"local", 1, map[string]string{"disk": "hdd"}, []corev1.PersistentVolume{volume(on("n1"), "1Gi", nil)}, 0},
		"the volume is made for the claim":        {"made", 1, nil, nil, 1},
		"upstream's plugin says what is mistaken": {"unknown", 1, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, upstream := indexed(), &asked{}
			for i := range c.volumes {
				c.volumes[i].Name = fmt.Sprint("v", i)
				_ = all.Add(&c.volumes[i])
			}
			var claims []*corev1.PersistentVolumeClaim
			for i := range c.claims {
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("c", i)}, Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: &c.class, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
				if c.selector != nil {
					claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: c.selector}
				}
				claims = append(claims, claim)
			}
			existing := &existingVolumes{FilterPlugin: upstream, volumes: corelisters.NewPersistentVolumeLister(all), classes: classes}
			state, node := k8sframework.NewCycleState(), k8sframework.NewNodeInfo()
			node.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"host": "n1"}}})
			state.Write(wantedKey, existing.wantedBy(claims))
			status := existing.Filter(t.Context(), state, &corev1.Pod{}, node)
			if upstream.times != c.want || status.IsSuccess() != (c.want == 1) {
				t.Errorf("asked %d times, want %d: %v", upstream.times, c.want, status)
			}
		})
	}
}
