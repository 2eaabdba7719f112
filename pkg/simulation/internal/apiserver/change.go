// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// put replaces an object, or its status.
func (s *Server) put(q *request) (any, error) {
	wanted, err := q.decode()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.stored(q.kind, q.namespace, q.name)
	if err != nil {
		return nil, err
	}
	return s.replace(q, before, wanted)
}

// patch changes an object, or its status.
func (s *Server) patch(q *request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.stored(q.kind, q.namespace, q.name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(before.Object)
	if err != nil {
		return nil, err
	}
	changed, err := applied(q, text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	wanted := &unstructured.Unstructured{}
	if err := json.Unmarshal(changed, &wanted.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.replace(q, before, wanted)
}

// applied returns an object after a patch.
func applied(q *request, text []byte) ([]byte, error) {
	switch kind := types.PatchType(q.Header.Get("Content-Type")); kind {
	case types.MergePatchType:
		return jsonpatch.MergePatch(text, q.body)
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(q.body)
		if err != nil {
			return nil, err
		}
		return operations.Apply(text)
	case types.StrategicMergePatchType:
		typed, err := scheme.Scheme.New(q.kind.GroupVersion().WithKind(q.kind.Kind))
		if err != nil {
			return nil, err
		}
		return strategicpatch.StrategicMergePatch(text, q.body, typed)
	default:
		return nil, fmt.Errorf("patches of the type %s are not served", kind)
	}
}

// replace stores the object of a client's update. The caller holds the lock.
func (s *Server) replace(q *request, before, wanted *unstructured.Unstructured) (any, error) {
	if v := wanted.GetResourceVersion(); v != "" && v != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(q.kind.GroupResource(), q.name, errors.New("it has changed since it was read"))
	}
	if uid := wanted.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, apierrors.NewConflict(q.kind.GroupResource(), q.name, errors.New("it is another object of this name"))
	}
	after := wanted
	switch {
	case q.subresource == "status":
		after = before.DeepCopy()
		after.Object["status"] = wanted.Object["status"]
		after.SetAnnotations(before.GetAnnotations())
	case q.kind.status:
		after.Object["status"] = before.Object["status"]
	}
	if after.Object["status"] == nil {
		delete(after.Object, "status")
	}
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetNamespace(before.GetNamespace())
	s.complete(after, before)
	after.SetResourceVersion(before.GetResourceVersion())
	switch {
	case after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0:
		s.write(q.kind, before, nil)
	case !sameJSON(before.Object, after.Object):
		s.write(q.kind, before, after)
	}
	return after.DeepCopy(), nil
}

// delete deletes an object.
func (s *Server) delete(q *request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(q.kind, q.namespace, q.name)
}

// remove deletes an object, or marks it for deletion if it has finalizers. Pods get no grace period. The caller holds the lock.
func (s *Server) remove(k *kind, namespace, name string) (any, error) {
	before, err := s.stored(k, namespace, name)
	if err != nil {
		return nil, err
	}
	if len(before.GetFinalizers()) == 0 {
		s.write(k, before, nil)
		return before, nil
	}
	if before.GetDeletionTimestamp() != nil {
		return before, nil
	}
	after, now := before.DeepCopy(), metav1.Now()
	after.SetDeletionTimestamp(&now)
	s.write(k, before, after)
	return after, nil
}
