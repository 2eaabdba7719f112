// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"

	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// ownClaims is upstream's count of the CSI volumes of nodes. That accepts no pod on a node where another one has an ephemeral volume whose claim names another
// owner. Users may write the owner, and would keep the pods of all others from the nodes on which they have a pod.
type ownClaims struct {
	k8sframework.FilterPlugin
	claims corelisters.PersistentVolumeClaimLister
}

// countOwnClaims does nothing if upstream's plugin does not count volumes.
func countOwnClaims(session *framework.Session, upstream *predicates.PredicatesPlugin) {
	if limits, found := upstream.FilterPlugins[nodevolumelimits.CSIName]; found {
		upstream.FilterPlugins[nodevolumelimits.CSIName] = ownClaims{limits, session.InformerFactory().Core().V1().PersistentVolumeClaims().Lister()}
	}
}

func (o ownClaims) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	status := o.FilterPlugin.Filter(ctx, state, pod, node)
	if status.Code() != fwk.Error {
		return status
	}
	return o.FilterPlugin.Filter(ctx, state, pod, o.withOwn(node))
}

// nodeWithOwn is a node whose pods have only volumes that can be counted. The others count as attached, if they are.
type nodeWithOwn struct {
	fwk.NodeInfo
	pods []fwk.PodInfo
}

func (n nodeWithOwn) GetPods() []fwk.PodInfo { return n.pods }

func (o ownClaims) withOwn(node fwk.NodeInfo) fwk.NodeInfo {
	pods := slices.Clone(node.GetPods())
	for i := range pods {
		pod := pods[i].GetPod()
		isForeign := func(volume corev1.Volume) bool { return o.isForeign(pod, &volume) }
		if !slices.ContainsFunc(pod.Spec.Volumes, isForeign) {
			continue
		}
		changed := *pod
		changed.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), isForeign)
		info, err := k8sframework.NewPodInfo(&changed)
		if err != nil {
			klog.ErrorS(err, "Failed to count the volumes of a pod", "pod", klog.KObj(pod))
			continue
		}
		pods[i] = info
	}
	return nodeWithOwn{node, pods}
}

// isForeign reports whether the claim of an ephemeral volume was not made for the pod.
func (o ownClaims) isForeign(pod *corev1.Pod, volume *corev1.Volume) bool {
	if volume.Ephemeral == nil {
		return false
	}
	claim, err := o.claims.PersistentVolumeClaims(pod.Namespace).Get(ephemeral.VolumeClaimName(pod, volume))
	return err == nil && ephemeral.VolumeIsForPod(pod, claim) != nil
}
