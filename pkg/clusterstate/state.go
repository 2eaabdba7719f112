// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// APIVersion and Kind are those of the file.
	APIVersion = "devicequota.io/v1alpha1"
	Kind       = "ClusterState"
)

// State has the objects that the scheduler reads of a cluster.
type State struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Time is when the cluster was read.
	Time metav1.Time `json:"time"`
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes"`
	// Configuration is the scheduler's, as its ConfigMap has it. It is empty if it could not be read.
	Configuration string `json:"configuration,omitempty"`
	// Unread says what could not be read, and why.
	Unread []string `json:"unread,omitempty"`
	// Items are the objects.
	Items []Object `json:"items"`
}

// Object is an object of Kubernetes in the form of its API.
type Object = unstructured.Unstructured

// Copy returns a deep copy.
func (s *State) Copy() *State {
	out := *s
	out.Unread = slices.Clone(s.Unread)
	out.Items = make([]Object, len(s.Items))
	for i := range s.Items {
		out.Items[i] = *s.Items[i].DeepCopy()
	}
	return &out
}

// Find returns an object, or nil if there is none.
func (s *State) Find(group, kind, namespace, name string) *Object {
	for i := range s.Items {
		o := &s.Items[i]
		if gvk := o.GroupVersionKind(); gvk.Group == group && gvk.Kind == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// Lay adds objects to the state. A new version of an existing object keeps the identity and the status of the object. A pod with a node does not
// change, because its requests are immutable.
func (s *State) Lay(objects ...Object) {
	for _, o := range objects {
		o = *o.DeepCopy()
		gvk := o.GroupVersionKind()
		before := s.Find(gvk.Group, gvk.Kind, o.GetNamespace(), o.GetName())
		if before == nil {
			s.Items = append(s.Items, o)
			continue
		}
		if node, _, _ := unstructured.NestedString(before.Object, "spec", "nodeName"); gvk.Group == "" && gvk.Kind == "Pod" && node != "" {
			continue
		}
		o.SetUID(before.GetUID())
		o.SetCreationTimestamp(before.GetCreationTimestamp())
		o.SetGeneration(before.GetGeneration() + 1)
		if status, has := before.Object["status"]; has {
			o.Object["status"] = status
		}
		*before = o
	}
}
