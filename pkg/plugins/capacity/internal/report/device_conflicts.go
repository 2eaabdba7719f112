// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/metric"
)

var devicesAllocatedTwice = promauto.NewGauge(metric.DevicesAllocatedTwice.GaugeOpts())

// DeviceConflicts writes an event on each claim of a new conflict, and counts the devices.
func (r *Reporter) DeviceConflicts(conflicts []dra.Conflict) {
	devicesAllocatedTwice.Set(float64(len(conflicts)))
	told := map[string]bool{}
	for i := range conflicts {
		conflict := &conflicts[i]
		key := conflict.Device.String()
		for _, claim := range conflict.Claims {
			key += " " + string(claim.UID)
		}
		told[key] = true
		if r.notifiedConflicts[key] {
			continue
		}
		klog.ErrorS(nil, "A device is allocated twice", "conflict", conflict.String())
		message := fmt.Sprintf("The %s: let only one scheduler allocate the devices of a node, and delete the pods of all but one of the claims", conflict)
		for _, claim := range conflict.Claims {
			r.Recorder.Event(claimReference(claim), corev1.EventTypeWarning, DeviceAllocatedTwiceReason, message)
		}
	}
	r.notifiedConflicts = told
}

func claimReference(claim *resourceapi.ResourceClaim) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: "ResourceClaim",
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
}
