// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// maxSelected is how many labels and values the unbound PersistentVolumeClaims of a pod may select by, as for the other selectors of a pod in
// config/admission/devices.yaml.
const maxSelected = 256

// boundClaims is a PreFilter that keeps pods from upstream's search for volumes if one comparison of their claims may take seconds. On each node, upstream
// sorts the claims by their sizes, and 1e999999999 takes minutes to compare with another size. It also parses their selectors again there. Sizes of petabytes
// are ordinary where volumes share a file system.
type boundClaims struct {
	k8sframework.PreFilterPlugin
	claims  corelisters.PersistentVolumeClaimLister
	volumes *existingVolumes
}

// boundVolumeClaims does nothing if upstream's plugin binds no volumes.
func boundVolumeClaims(session *framework.Session, upstream *predicates.PredicatesPlugin, effort *effort) {
	binding, found := upstream.PrefilterPlugins[volumebinding.Name]
	if !found {
		return
	}
	core := session.InformerFactory().Core().V1()
	volumes := &existingVolumes{
		FilterPlugin: upstream.FilterPlugins[volumebinding.Name], volumes: core.PersistentVolumes().Lister(),
		classes: session.InformerFactory().Storage().V1().StorageClasses().Lister(), effort: effort,
	}
	upstream.PrefilterPlugins[volumebinding.Name] = boundClaims{binding, core.PersistentVolumeClaims().Lister(), volumes}
	upstream.FilterPlugins[volumebinding.Name] = volumes
}

func (b boundClaims) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*k8sframework.PreFilterResult, *fwk.Status) {
	if cost := costOf(pod); cost.claims > ordinaryClaims {
		if !b.volumes.effort.may(pod.Namespace, cost.job) {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
				"the pod has %d PersistentVolumeClaims, and waits for its turn: those with up to %d do not wait", cost.claims, ordinaryClaims))
		}
		state.Write(costKey, cost)
	}
	selected, unbound := 0, []*corev1.PersistentVolumeClaim(nil)
	for i := range pod.Spec.Volumes {
		claim, err := b.claims.PersistentVolumeClaims(pod.Namespace).Get(claimName(pod, &pod.Spec.Volumes[i]))
		if err != nil || claim.Spec.VolumeName != "" {
			continue // upstream's plugin says which claim does not exist, and compares only claims without a volume
		}
		if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.AsApproximateFloat64() > math.MaxInt64 {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
				"PersistentVolumeClaim %s requests <%s> of storage, which no volume has: request less", claim.Name, size.String()))
		}
		if selected += selectorSize(claim.Spec.Selector); selected > maxSelected {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
				"the PersistentVolumeClaims of the pod select by more than %d labels and values: use fewer", maxSelected))
		}
		unbound = append(unbound, claim)
	}
	if len(pod.Spec.Volumes) > 0 {
		state.Write(wantedKey, b.volumes.wantedBy(unbound))
	}
	return b.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
}

// claimName is empty if the volume has no claim.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	default:
		return ""
	}
}
