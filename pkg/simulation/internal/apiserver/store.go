// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Server holds the objects. It is safe for concurrent use.
type Server struct {
	// version is the version of Kubernetes, such as v1.34.1.
	version string

	mu sync.Mutex
	// revision is the resource version of the last write.
	revision uint64
	kinds    map[string]*kind
	watches  map[*watcher]struct{}
	// deleted has the deleted pods in order.
	deleted []*unstructured.Unstructured
}

// kind holds the objects of one resource, by namespace/name.
type kind struct {
	Resource
	objects map[string]*unstructured.Unstructured
}

// New returns a server without objects that reports a version of Kubernetes.
func New(version string) *Server {
	s := &Server{version: version, kinds: map[string]*kind{}, watches: map[*watcher]struct{}{}}
	for _, r := range Resources {
		s.kinds[path(r.Group, r.Version, r.Resource)] = &kind{Resource: r, objects: map[string]*unstructured.Unstructured{}}
	}
	return s
}

func path(group, version, resource string) string { return group + "/" + version + "/" + resource }

func key(namespace, name string) string { return namespace + "/" + name }

// kindOf returns the kind of an object, or an error if the server does not serve it.
func (s *Server) kindOf(object *unstructured.Unstructured) (*kind, error) {
	gvk := object.GroupVersionKind()
	for _, k := range s.kinds {
		if k.Group == gvk.Group && k.Version == gvk.Version && k.Kind == gvk.Kind {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%s %s: the scheduler does not read objects of %s", gvk.Kind, object.GetName(), gvk.GroupVersion())
}

// Put creates or replaces an object with its status. A missing UID, generation, or creation time comes from the former object, or is
// new.
func (s *Server) Put(object *unstructured.Unstructured) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.kindOf(object)
	if err != nil {
		return err
	}
	object = object.DeepCopy()
	before := k.objects[key(object.GetNamespace(), object.GetName())]
	s.complete(object, before)
	s.write(k, before, object)
	return nil
}

// complete sets the metadata that an API server sets.
func (s *Server) complete(object, before *unstructured.Unstructured) {
	if before != nil {
		if object.GetUID() == "" {
			object.SetUID(before.GetUID())
		}
		if created := before.GetCreationTimestamp(); object.GetCreationTimestamp().Time.IsZero() && !created.IsZero() {
			object.SetCreationTimestamp(created)
		}
		object.SetGeneration(before.GetGeneration())
		if !sameJSON(object.Object["spec"], before.Object["spec"]) {
			object.SetGeneration(before.GetGeneration() + 1)
		}
	}
	if object.GetUID() == "" {
		// The UID is the same in each simulation, because it can decide the order of objects.
		named := sha256.Sum256([]byte(object.GetKind() + " " + key(object.GetNamespace(), object.GetName())))
		object.SetUID(types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", named[:4], named[4:6], named[6:8], named[8:10], named[10:16])))
	}
	if object.GetCreationTimestamp().Time.IsZero() {
		object.SetCreationTimestamp(metav1.Now())
	}
	if object.GetGeneration() == 0 {
		object.SetGeneration(1)
	}
}

// write stores an object, or deletes the one before if the object is nil. It notifies the watchers. The caller holds the lock.
func (s *Server) write(k *kind, before, after *unstructured.Unstructured) {
	s.revision++
	event, object := watch.Modified, after
	switch {
	case after == nil:
		event, object = watch.Deleted, before.DeepCopy()
		delete(k.objects, key(before.GetNamespace(), before.GetName()))
		if k.Resource.Resource == "pods" {
			s.deleted = append(s.deleted, object)
		}
	case before == nil:
		event = watch.Added
	}
	object.SetResourceVersion(strconv.FormatUint(s.revision, 10))
	if after != nil {
		k.objects[key(after.GetNamespace(), after.GetName())] = after
	}
	for w := range s.watches {
		if w.kind == k {
			w.tell(event, object)
		}
	}
}

// List returns copies of the objects of a resource, sorted by namespace and name.
func (s *Server) List(group, version, resource string) []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[path(group, version, resource)]
	if k == nil {
		return nil
	}
	var all []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(k.objects)) {
		all = append(all, k.objects[name].DeepCopy())
	}
	return all
}

// Delete deletes an object as a user would. A missing object is not an error.
func (s *Server) Delete(object *unstructured.Unstructured) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.kindOf(object)
	if err != nil {
		return err
	}
	if _, err := s.remove(k, object.GetNamespace(), object.GetName()); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// DeletedPods returns the deleted pods in order.
func (s *Server) DeletedPods() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deleted)
}

// Revision returns a number that grows with each write.
func (s *Server) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
