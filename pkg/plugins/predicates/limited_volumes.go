// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"

	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// limitedVolumes is upstream's count of the CSI volumes of nodes. That accepts no pod on a node where another one has an ephemeral volume whose claim names another
// owner. Users may write the owner, and would keep the pods of all others from the nodes on which they have a pod. It also looks at all volumes of all pods of a
// node, and at all VolumeAttachments of the cluster, for each waiting pod. Pods may have any number of volumes without a limit, such as those of file servers: a
// user with ten pods of 256 volumes on each of 100 nodes took a sixth of a second of each cycle for each pod with a volume that waits. Therefore, it sees only volumes that
// have a limit, of which a node has few.
type limitedVolumes struct {
	// upstream returns upstream's plugin for a node with these VolumeAttachments.
	upstream   func([]*storagev1.VolumeAttachment) (k8sframework.FilterPlugin, error)
	claims     corelisters.PersistentVolumeClaimLister
	volumes    corelisters.PersistentVolumeLister
	classes    storagelisters.StorageClassLister
	nodes      storagelisters.CSINodeLister
	translator csitranslation.CSITranslator
	// attached has the VolumeAttachments of each node, as of the first question of the session.
	attached func() map[string][]*storagev1.VolumeAttachment
	// counted has what was counted on each node, by its name.
	counted sync.Map
}

// countLimitedVolumes does nothing if upstream's plugin does not count volumes.
func countLimitedVolumes(session *framework.Session, upstream *predicates.PredicatesPlugin) {
	if _, found := upstream.FilterPlugins[nodevolumelimits.CSIName]; found {
		upstream.FilterPlugins[nodevolumelimits.CSIName] = newLimitedVolumes(upstream.Handle, session.InformerFactory())
	}
}

func newLimitedVolumes(handle k8sframework.Handle, factory informers.SharedInformerFactory) *limitedVolumes {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	return &limitedVolumes{
		upstream: func(attachments []*storagev1.VolumeAttachment) (k8sframework.FilterPlugin, error) {
			return newCSILimits(handle, attachments)
		},
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(), classes: storage.StorageClasses().Lister(),
		nodes: storage.CSINodes().Lister(), translator: csitranslation.New(),
		attached: sync.OnceValue(func() map[string][]*storagev1.VolumeAttachment {
			all, err := storage.VolumeAttachments().Lister().List(labels.Everything())
			if err != nil {
				klog.ErrorS(err, "Failed to list VolumeAttachments")
			}
			attached := map[string][]*storagev1.VolumeAttachment{}
			for _, attachment := range all {
				attached[attachment.Spec.NodeName] = append(attached[attachment.Spec.NodeName], attachment)
			}
			return attached
		}),
	}
}

func (l *limitedVolumes) Name() string { return nodevolumelimits.CSIName }

func (l *limitedVolumes) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return claimName(pod, &v) != "" || l.translator.IsInlineMigratable(&v) }) {
		return nil // upstream's plugin counts nothing for it either
	}
	counted, err := l.count(node)
	if err != nil {
		return fwk.AsStatus(err)
	}
	return counted.upstream.Filter(ctx, state, pod, nodeWithLimits{node, counted.pods})
}

// countedNode is a node whose pods have only volumes with a limit that can be counted. Those of others count as attached, if they are.
type countedNode struct {
	generation int64
	pods       []fwk.PodInfo
	upstream   k8sframework.FilterPlugin
}

type nodeWithLimits struct {
	fwk.NodeInfo
	pods []fwk.PodInfo
}

func (n nodeWithLimits) GetPods() []fwk.PodInfo { return n.pods }

// count counts a node anew if its pods have changed.
func (l *limitedVolumes) count(node fwk.NodeInfo) (*countedNode, error) {
	name := node.Node().Name
	if known, found := l.counted.Load(name); found && known.(*countedNode).generation == node.GetGeneration() {
		return known.(*countedNode), nil
	}
	counted, limited := &countedNode{generation: node.GetGeneration()}, l.limited(name)
	for _, there := range node.GetPods() {
		pod := there.GetPod()
		isLimited := func(v corev1.Volume) bool { return !l.isForeign(pod, &v) && limited[l.driverOf(pod, &v)] }
		if len(limited) == 0 || !slices.ContainsFunc(pod.Spec.Volumes, isLimited) {
			continue
		}
		changed := *pod
		changed.Spec.Affinity = nil // to parse it takes a hundred times as long as to count volumes
		changed.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool { return !isLimited(v) })
		info, err := k8sframework.NewPodInfo(&changed)
		if err != nil {
			klog.ErrorS(err, "Failed to count the volumes of a pod", "pod", klog.KObj(pod))
			continue
		}
		counted.pods = append(counted.pods, info)
	}
	attachments := slices.DeleteFunc(slices.Clone(l.attached()[name]), func(a *storagev1.VolumeAttachment) bool { return !limited[a.Spec.Attacher] })
	var err error
	if counted.upstream, err = l.upstream(attachments); err == nil {
		l.counted.Store(name, counted)
	}
	return counted, err
}

// limited returns the drivers of which a node has a limited number of volumes.
func (l *limitedVolumes) limited(node string) map[string]bool {
	limited := map[string]bool{}
	if known, err := l.nodes.Get(node); err == nil {
		for i := range known.Spec.Drivers {
			if allocatable := known.Spec.Drivers[i].Allocatable; allocatable != nil && allocatable.Count != nil {
				limited[known.Spec.Drivers[i].Name] = true
			}
		}
	}
	return limited
}

// driverOf returns the driver of a volume, whether the node has it or an older one in its place. It is empty for volumes that upstream's plugin does not count.
func (l *limitedVolumes) driverOf(pod *corev1.Pod, v *corev1.Volume) string {
	name := claimName(pod, v)
	if name == "" {
		return l.translated(nil, v)
	}
	claim, err := l.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
	if err != nil {
		return ""
	}
	if bound, err := l.volumes.Get(claim.Spec.VolumeName); err == nil {
		if bound.Spec.CSI != nil {
			return bound.Spec.CSI.Driver
		}
		return l.translated(bound, nil)
	}
	class, err := l.classes.Get(volume.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return ""
	}
	if driver, err := l.translator.GetCSINameFromInTreeName(class.Provisioner); err == nil {
		return driver
	}
	return class.Provisioner
}

// translated returns the driver that has taken the place of an older one.
func (l *limitedVolumes) translated(bound *corev1.PersistentVolume, v *corev1.Volume) string {
	plugin, err := l.translator.GetInTreePluginNameFromSpec(bound, v)
	if err != nil {
		return ""
	}
	driver, err := l.translator.GetCSINameFromInTreeName(plugin)
	if err != nil {
		return ""
	}
	return driver
}

// isForeign reports whether the claim of an ephemeral volume was not made for the pod.
func (l *limitedVolumes) isForeign(pod *corev1.Pod, v *corev1.Volume) bool {
	if v.Ephemeral == nil {
		return false
	}
	claim, err := l.claims.PersistentVolumeClaims(pod.Namespace).Get(ephemeral.VolumeClaimName(pod, v))
	return err == nil && ephemeral.VolumeIsForPod(pod, claim) != nil
}
