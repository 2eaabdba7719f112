// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// get answers get, list, and watch.
func (s *Server) get(q *request) (any, error) {
	query := q.URL.Query()
	if q.name != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.stored(q.kind, q.namespace, q.name)
	}
	chosen, err := newSelector(q.namespace, query)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if watching := query.Get("watch"); watching == "true" || watching == "1" {
		return s.watch(q.Context(), q.kind, chosen, query.Get("resourceVersion")), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for _, name := range slices.Sorted(maps.Keys(q.kind.objects)) {
		if object := q.kind.objects[name]; chosen.selects(object) {
			items = append(items, object.DeepCopy().Object)
		}
	}
	return map[string]any{
		"apiVersion": q.kind.GroupVersion().String(), "kind": q.kind.Kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.FormatUint(s.revision, 10)}, "items": items,
	}, nil
}

// stored returns a copy of an object. The caller holds the lock.
func (s *Server) stored(k *kind, namespace, name string) (*unstructured.Unstructured, error) {
	object, found := k.objects[key(namespace, name)]
	if !found {
		return nil, apierrors.NewNotFound(k.GroupResource(), name)
	}
	return object.DeepCopy(), nil
}

// post creates an object, or binds a pod.
func (s *Server) post(q *request) (any, error) {
	if q.subresource == "binding" {
		return s.bind(q)
	}
	query := q.URL.Query()
	if q.kind.Kind == "Queue" && query.Get("fieldValidation") == metav1.FieldValidationStrict {
		if err := strictQueue(q.body); err != nil {
			return nil, err
		}
	}
	object, err := q.decode()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.namespace != "" {
		object.SetNamespace(q.namespace)
	}
	if object.GetName() == "" {
		object.SetName(object.GetGenerateName() + strconv.FormatUint(s.revision+1, 36))
	}
	if q.kind.objects[key(object.GetNamespace(), object.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(q.kind.GroupResource(), object.GetName())
	}
	s.complete(object, nil)
	if query.Get("dryRun") == "" {
		s.write(q.kind, nil, object)
	}
	return object.DeepCopy(), nil
}

// decode reads the object of a request.
func (q *request) decode() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(q.body, &object.Object); err != nil || object.Object == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is no object: %v", err))
	}
	object.SetGroupVersionKind(q.kind.GroupVersion().WithKind(q.kind.Kind))
	return object, nil
}

// strictQueue refuses a queue with unknown fields. The scheduler finds out this way whether queues have spec.dra.
func strictQueue(body []byte) error {
	unknown, err := kjson.UnmarshalStrict(body, &schedulingv1beta1.Queue{})
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	var all []string
	for _, e := range unknown {
		all = append(all, e.Error())
	}
	if len(all) > 0 {
		return apierrors.NewBadRequest("strict decoding error: " + strings.Join(all, ", "))
	}
	return nil
}

// bind sets the node of a pod as a Binding does, and starts the pod as a kubelet does.
func (s *Server) bind(q *request) (any, error) {
	var binding corev1.Binding
	if err := json.Unmarshal(q.body, &binding); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.stored(q.kind, q.namespace, q.name)
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(before.Object, &pod); err != nil {
		return nil, err
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || binding.UID != "" && binding.UID != pod.UID {
		return nil, apierrors.NewConflict(q.kind.GroupResource(), q.name, fmt.Errorf("the pod is deleted, or another one, or has the node %q", pod.Spec.NodeName))
	}
	now := metav1.Now()
	pod.Spec.NodeName = binding.Target.Name
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, binding.Annotations)
	pod.Status.Phase, pod.Status.StartTime, pod.Status.NominatedNodeName = corev1.PodRunning, &now, ""
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{Object: content}
	after.SetGroupVersionKind(before.GroupVersionKind())
	s.write(q.kind, before, after)
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: 201}, nil
}
