// SPDX-License-Identifier: Apache-2.0

package lint

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// Kinds of objects of which rules need to know all.
const (
	Queues          = "Queue"
	Classes         = "DeviceClass"
	Slices          = "ResourceSlice"
	Nodes           = "Node"
	Claims          = "ResourceClaim"
	Templates       = "ResourceClaimTemplate"
	PriorityClasses = "PriorityClass"
)

// Objects are the objects to check. They must not be changed.
type Objects struct {
	Queues          []*schedulingv1beta1.Queue
	Classes         []*resourceapi.DeviceClass
	Slices          []*resourceapi.ResourceSlice
	Nodes           []*corev1.Node
	Claims          []*resourceapi.ResourceClaim
	Templates       []*resourceapi.ResourceClaimTemplate
	PriorityClasses []*schedulingv1.PriorityClass
	// Workloads are objects of the kinds that package workload reads.
	Workloads []runtime.Object
	// Configurations are configurations of the scheduler.
	Configurations []*Configuration
	// Known has the kinds that are here completely. A rule that needs all objects of another kind does not run.
	Known map[string]bool
}
