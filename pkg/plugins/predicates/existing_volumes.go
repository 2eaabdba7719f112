// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/capabilities/volumebinding"
)

// existingVolumes is a Filter that refuses nodes which have too few volumes for the claims of a pod, before upstream's plugin looks. That compares each claim
// with each volume of its class, and with the labels of the node, for each node: a pod with 256 claims took a second and a half for each node of a cluster
// with 1000 local volumes. It only looks at classes whose volumes nobody makes, and refuses no node that upstream's plugin accepts.
type existingVolumes struct {
	k8sframework.FilterPlugin
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	effort  *effort
	list    sync.Once
	// places has the volumes of each class by a label that their nodes must have.
	places map[string]map[label][]*corev1.PersistentVolume
	// keys has the keys of these labels, by class.
	keys map[string]map[string]bool
}

// label is a label of nodes. It is empty for volumes that may be on any node, as far as is known without a closer look.
type label struct{ key, value string }

// wantedKey is the key of wantedVolumes in the state of a pod.
const wantedKey = "devicequota/wanted-volumes"

// wantedVolumes has the claims of a pod that get existing volumes only, by class.
type wantedVolumes map[string][]wantedVolume

type wantedVolume struct {
	claim    *corev1.PersistentVolumeClaim
	selector labels.Selector
}

// Clone implements fwk.StateData. Nobody changes it.
func (w wantedVolumes) Clone() fwk.StateData { return w }

// wantedBy leaves out what upstream's plugin complains about.
func (e *existingVolumes) wantedBy(claims []*corev1.PersistentVolumeClaim) wantedVolumes {
	wanted := wantedVolumes{}
	for _, claim := range claims {
		name := volume.GetPersistentVolumeClaimClass(claim)
		class, err := e.classes.Get(name)
		if err != nil || class.Provisioner != volume.NotSupportedProvisioner {
			continue
		}
		selector := labels.Everything()
		if claim.Spec.Selector != nil {
			if selector, err = metav1.LabelSelectorAsSelector(claim.Spec.Selector); err != nil {
				continue
			}
		}
		wanted[name] = append(wanted[name], wantedVolume{claim, selector})
	}
	return wanted
}

func (e *existingVolumes) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if data, err := state.Read(costKey); err == nil {
		e.effort.spend(data.(cost).job, data.(cost).claims)
	}
	if data, err := state.Read(wantedKey); err == nil {
		for class, claims := range data.(wantedVolumes) {
			if !e.suffice(class, claims, node.Node()) {
				return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, string(volumebinding.ErrReasonBindConflict))
			}
		}
	}
	return e.FilterPlugin.Filter(ctx, state, pod, node)
}

// suffice reports whether a node may have a volume for each claim of a class.
func (e *existingVolumes) suffice(class string, claims []wantedVolume, node *corev1.Node) bool {
	e.list.Do(e.find)
	places, served, usable := e.places[class], make([]bool, len(claims)), 0
	count := func(volumes []*corev1.PersistentVolume) {
		for _, v := range volumes {
			used := false
			for i := range claims {
				if claims[i].mayGet(v) {
					served[i], used = true, true
				}
			}
			if used {
				usable++
			}
		}
	}
	count(places[label{}])
	for key := range e.keys[class] {
		count(places[label{key, node.Labels[key]}])
	}
	for i := range served {
		if !served[i] {
			return false
		}
	}
	return usable >= len(claims)
}

func (w *wantedVolume) mayGet(v *corev1.PersistentVolume) bool {
	if v.Spec.ClaimRef != nil {
		return volume.IsVolumeBoundToClaim(v, w.claim)
	}
	size := v.Spec.Capacity[corev1.ResourceStorage]
	return size.Cmp(w.claim.Spec.Resources.Requests[corev1.ResourceStorage]) >= 0 && w.selector.Matches(labels.Set(v.Labels))
}

// find finds the volumes of all classes, once in a session.
func (e *existingVolumes) find() {
	all, err := e.volumes.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list PersistentVolumes")
	}
	e.places, e.keys = map[string]map[label][]*corev1.PersistentVolume{}, map[string]map[string]bool{}
	for _, v := range all {
		class := volume.GetPersistentVolumeClass(v)
		if e.places[class] == nil {
			e.places[class], e.keys[class] = map[label][]*corev1.PersistentVolume{}, map[string]bool{}
		}
		for _, l := range labelsOf(v) {
			e.places[class][l] = append(e.places[class][l], v)
			if l.key != "" {
				e.keys[class][l.key] = true
			}
		}
	}
}

// labelsOf returns labels of which a node must have one to have a volume.
func labelsOf(v *corev1.PersistentVolume) []label {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil || len(v.Spec.NodeAffinity.Required.NodeSelectorTerms) != 1 {
		return []label{{}}
	}
	for _, required := range v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
		if required.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		var some []label
		for _, value := range required.Values {
			some = append(some, label{required.Key, value})
		}
		return some
	}
	return []label{{}}
}
