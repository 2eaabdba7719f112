// SPDX-License-Identifier: Apache-2.0

package usage

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// WatchPods notes when pods are deleted.
func (r *Recorder) WatchPods(pods toolscache.SharedInformer) {
	_, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if pod := before.(*corev1.Pod); pod.UID != after.(*corev1.Pod).UID {
				r.PodDeleted(pod)
			}
		},
		DeleteFunc: func(object any) {
			if pod, is := snapshot.LastState(object).(*corev1.Pod); is {
				r.PodDeleted(pod)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch pods, the record of usage learns late that they are deleted")
	}
}

// PodDeleted notes that a pod is gone. Its usage ended with its containers, or now if they have no finish time.
func (r *Recorder) PodDeleted(pod *corev1.Pod) {
	at := finished(pod)
	if at.IsZero() {
		at = r.clock.Now()
	}
	r.endings.note(at, accounting.Key(pod.UID), resourcesOf(pod))
}

// WatchClaims notes when claims lose their devices.
func (r *Recorder) WatchClaims(reader *allocation.Reader) {
	err := reader.WatchClaims(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			claim, now := before.(*resourceapi.ResourceClaim), after.(*resourceapi.ResourceClaim)
			if now.Status.Allocation == nil || now.UID != claim.UID {
				r.claimFreed(claim)
			}
		},
		DeleteFunc: func(object any) {
			if claim, is := snapshot.LastState(object).(*resourceapi.ResourceClaim); is {
				r.claimFreed(claim)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch claims, the record of usage learns late that their devices are free")
	}
}

// claimFreed notes that a claim lost its devices, if it had any.
func (r *Recorder) claimFreed(claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation != nil {
		r.endings.note(r.clock.Now(), keyOf(claim))
	}
}
