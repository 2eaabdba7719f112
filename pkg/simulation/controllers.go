// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// control does the work of controllers and kubelets once.
func (r *replay) control() error {
	if !r.complete {
		return nil
	}
	steps := []func() error{r.endPods, r.releaseClaims, r.makePodGroups, r.makePods, r.makeGroupsOfPods, r.makeClaims}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the objects of a resource as Go types.
func objects[T any](r *replay, group, version, resource string) ([]*T, error) {
	var all []*T
	for _, object := range r.server.List(group, version, resource) {
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
		all = append(all, typed)
	}
	return all, nil
}

func (r *replay) pods() ([]*corev1.Pod, error) { return objects[corev1.Pod](r, "", "v1", "pods") }

func (r *replay) claims() ([]*resourceapi.ResourceClaim, error) {
	return objects[resourceapi.ResourceClaim](r, "resource.k8s.io", "v1", "resourceclaims")
}

// put writes a typed object.
func (r *replay) put(apiVersion, kind string, typed any) error {
	object, err := asObject(apiVersion, kind, typed)
	if err != nil {
		return err
	}
	return r.server.Put(object)
}

// endPods deletes the pods that are terminating, as kubelets do.
func (r *replay) endPods() error {
	for _, pod := range r.server.List("", "v1", "pods") {
		if pod.GetDeletionTimestamp() == nil {
			continue
		}
		pod.SetFinalizers(nil)
		if err := r.server.Put(pod); err != nil {
			return err
		}
		if err := r.server.Delete(pod); err != nil {
			return err
		}
	}
	return nil
}

// releaseClaims deletes the claims of pods that are gone, and frees the devices of unused claims.
func (r *replay) releaseClaims() error {
	pods, err := r.pods()
	if err != nil {
		return err
	}
	alive := map[types.UID]bool{}
	for _, pod := range pods {
		alive[pod.UID] = pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}
	gone := func(uid types.UID) bool { _, exists := alive[uid]; return !exists }
	claims, err := r.claims()
	if err != nil {
		return err
	}
	for _, claim := range claims {
		owner := metav1.GetControllerOf(claim)
		orphaned := owner != nil && owner.Kind == "Pod" && gone(owner.UID) || claim.DeletionTimestamp != nil
		used := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(user resourceapi.ResourceClaimConsumerReference) bool {
			return user.APIGroup == "" && user.Resource == "pods" && !alive[user.UID]
		})
		if len(used) == len(claim.Status.ReservedFor) && !orphaned {
			continue
		}
		if claim.Status.ReservedFor = used; len(used) == 0 {
			claim.Status.Allocation, claim.Status.Devices = nil, nil
			claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(name string) bool { return name == resourceapi.Finalizer })
		}
		if err := r.put("resource.k8s.io/v1", "ResourceClaim", claim); err != nil {
			return err
		}
		if orphaned && len(used) == 0 {
			if err := r.delete("resource.k8s.io/v1", "ResourceClaim", claim.Namespace, claim.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replay) delete(apiVersion, kind, namespace, name string) error {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return r.server.Delete(object)
}

// makeClaims creates claims from the templates that pods name, as Kubernetes' controller does.
func (r *replay) makeClaims() error {
	pods, err := r.pods()
	if err != nil {
		return err
	}
	templates, err := objects[resourceapi.ResourceClaimTemplate](r, "resource.k8s.io", "v1", "resourceclaimtemplates")
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for i := range pod.Spec.ResourceClaims {
			ref := &pod.Spec.ResourceClaims[i]
			if name, _, err := resourceclaim.Name(pod, ref); err == nil && name != nil || ref.ResourceClaimTemplateName == nil {
				continue
			}
			at := slices.IndexFunc(templates, func(t *resourceapi.ResourceClaimTemplate) bool {
				return t.Namespace == pod.Namespace && t.Name == *ref.ResourceClaimTemplateName
			})
			if at < 0 {
				continue
			}
			if err := r.makeClaim(pod, ref.Name, templates[at]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replay) makeClaim(pod *corev1.Pod, ref string, template *resourceapi.ResourceClaimTemplate) error {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name + "-" + ref + "-simulated", Labels: template.Spec.Labels, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
	maps.Copy(claim.Annotations, template.Spec.Annotations)
	claim.Annotations["resource.kubernetes.io/pod-claim-name"] = ref
	if err := r.put("resource.k8s.io/v1", "ResourceClaim", claim); err != nil {
		return err
	}
	pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: ref, ResourceClaimName: &claim.Name})
	return r.put("v1", "Pod", pod)
}
