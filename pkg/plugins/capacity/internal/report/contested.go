// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/problems"
)

// ContestedResources writes an event on each DeviceClass that newly lost the extended resource that it names.
func (r *Reporter) ContestedResources(contested []dra.Contested) {
	if len(contested)+len(r.notifiedContested) == 0 {
		return
	}
	told := map[types.UID]string{}
	for i := range contested {
		c := &contested[i]
		message := problems.Contested(c)
		told[c.Class.UID] = message
		if r.notifiedContested[c.Class.UID] == message {
			continue
		}
		klog.InfoS("Several DeviceClasses name the same extended resource", "resource", c.Resource, "class", c.Class.Name, "winner", c.Winner.Name, "message", message)
		r.Recorder.Event(classReference(c.Class), corev1.EventTypeWarning, problems.ExtendedResourceContestedReason, message)
	}
	r.notifiedContested = told
}

func classReference(class *resourceapi.DeviceClass) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: "DeviceClass", Name: class.Name, UID: class.UID, ResourceVersion: class.ResourceVersion,
	}
}
