// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/lint"
)

// cluster has the objects that were read from the API server.
type cluster struct {
	objects []located
	known   map[string]bool
}

// located is an object with its reference.
type located struct {
	ref lint.Ref
	// object is nil for a configuration of the scheduler.
	object        runtime.Object
	configuration *lint.Configuration
}

// with returns the objects of the cluster after the documents are applied.
func (c *cluster) with(documents []*document) *lint.Objects {
	applied, configured := map[lint.Ref]bool{}, false
	for _, d := range documents {
		applied[d.ref] = true
		configured = configured || d.configuration != nil
	}
	objects := &lint.Objects{Known: maps.Clone(c.known)}
	for _, o := range c.objects {
		if !applied[o.ref] && (o.configuration == nil || !configured) {
			add(objects, &o)
		}
	}
	for _, d := range documents {
		add(objects, &d.located)
	}
	return objects
}

// newObjects returns the objects of documents alone. Each kind in the documents counts as known completely.
func newObjects(documents []*document) *lint.Objects {
	objects := &lint.Objects{Known: map[string]bool{}}
	for _, d := range documents {
		add(objects, &d.located)
		objects.Known[d.ref.Kind] = true
	}
	return objects
}

func add(to *lint.Objects, l *located) {
	if l.configuration != nil {
		to.Configurations = append(to.Configurations, l.configuration)
	}
	switch o := l.object.(type) {
	case nil, *corev1.ConfigMap:
	case *schedulingv1beta1.Queue:
		to.Queues = append(to.Queues, o)
	case *resourceapi.DeviceClass:
		to.Classes = append(to.Classes, o)
	case *resourceapi.ResourceSlice:
		to.Slices = append(to.Slices, o)
	case *corev1.Node:
		to.Nodes = append(to.Nodes, o)
	case *resourceapi.ResourceClaim:
		to.Claims = append(to.Claims, o)
	case *resourceapi.ResourceClaimTemplate:
		to.Templates = append(to.Templates, o)
	case *schedulingv1.PriorityClass:
		to.PriorityClasses = append(to.PriorityClasses, o)
	default:
		to.Workloads = append(to.Workloads, o)
	}
}
