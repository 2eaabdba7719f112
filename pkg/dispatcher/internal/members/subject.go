// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// subject is an object of the control plane that was sent to a member.
type subject struct {
	apiVersion, kind, namespace, name string
	// uid is the UID on the control plane.
	uid string
	// id is the permanent ID of its binding.
	id string
}

// errAnother means that the owner of the pods is unclear.
var errAnother = errors.New("it has another object of this name, so that nobody can tell whose pods there are")

// livePhases selects the pods that have not ended, with and without a node.
const livePhases = "status.phase!=Succeeded,status.phase!=Failed"

// in returns what a member has of the object. It reads the object before the pods: if the object is gone, no more pods are made.
func (s *subject) in(ctx context.Context, member Client) (framework.Left, error) {
	gvk := schema.FromAPIVersionAndKind(s.apiVersion, s.kind)
	if !slices.Contains(workload.Kinds, gvk) {
		return framework.Left{}, fmt.Errorf("which pods belong to objects of kind %s is not known", s.kind)
	}
	left := framework.Left{}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	object, err := member.Resource(resource).Namespace(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return left, err
	case object.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation] == s.uid:
		left.Generation = cmp.Or(object.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey], "none")
	case s.id != "" && object.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] == s.id:
		left.Generation = "of the object before" // it was deleted without its binding, and created again
	default:
		return left, errAnother
	}
	if gvk == workload.StatefulSet && left.Generation != "" {
		switch seen, err := s.isSeen(ctx, member.Objects.Resource(resource)); {
		case err != nil:
			return left, err
		case !seen:
			left.Generation = "that its controller has not seen"
		}
	}
	pods, err := s.pods(ctx, member, gvk)
	left.Pods = int64(len(pods))
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			left.Ending++
		}
	}
	return left, err
}

// pods returns the pods of the object that have not ended.
func (s *subject) pods(ctx context.Context, member Client, gvk schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	var own []metav1.PartialObjectMetadata
	all := member.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(s.namespace)
	err := eachOf(ctx, all, metav1.ListOptions{FieldSelector: livePhases}, func(pod *metav1.PartialObjectMetadata) {
		if s.owns(gvk, pod) {
			own = append(own, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: pod.DeletionTimestamp, OwnerReferences: pod.OwnerReferences}})
		}
	})
	if err != nil {
		return nil, err
	}
	if gvk != workload.CronJob {
		return own, nil
	}
	made := map[string]bool{} // by the name of a Job
	for i := range own {
		job := metav1.GetControllerOf(&own[i]).Name
		if _, known := made[job]; known {
			continue
		}
		if made[job], err = s.makes(ctx, member, job); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(own, func(pod metav1.PartialObjectMetadata) bool { return !made[metav1.GetControllerOf(&pod).Name] }), nil
}

// isSeen reports whether the controller of a StatefulSet has seen the current object. Karmada omits that from the status, which may
// still say of an older template that all pods are made from it.
func (s *subject) isSeen(ctx context.Context, objects dynamic.NamespaceableResourceInterface) (bool, error) {
	object, err := objects.Namespace(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	seen, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return seen >= object.GetGeneration(), err
}

// owns reports whether a pod was made for the object. A ReplicaSet is between a Deployment and its pods, and a Job between a CronJob
// and its pods. They may be gone before the pods are, but their names are the object's name with one more part.
func (s *subject) owns(gvk schema.GroupVersionKind, pod *metav1.PartialObjectMetadata) bool {
	if gvk == workload.Pod {
		return pod.Name == s.name
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	want, name := gvk.GroupKind(), owner.Name
	if middle, indirect := between[gvk]; indirect {
		want, name = middle, withoutLastPart(name)
	}
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == want && name == s.name
}

// makes reports whether a Job was made for the CronJob, whose Jobs have its name and a number. Users may give a Job such a name, too. If Karmada made
// it, it is another workload.
func (s *subject) makes(ctx context.Context, member Client, job string) (bool, error) {
	object, err := member.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace(s.namespace).Get(ctx, job, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err == nil {
		if owner := metav1.GetControllerOf(object); owner != nil {
			return owner.Kind == s.kind && owner.Name == s.name, nil
		}
		if _, sent := object.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation]; sent {
			return false, nil
		}
	}
	return strings.Trim(job[len(s.name)+1:], "0123456789") == "", nil // the CronJob and the Job may be gone before the pods are
}

// between has the kind of objects that are between an object and its pods.
var between = map[schema.GroupVersionKind]schema.GroupKind{
	workload.Deployment: {Group: "apps", Kind: "ReplicaSet"}, workload.CronJob: workload.Job.GroupKind(),
}

func withoutLastPart(name string) string { return name[:max(0, strings.LastIndex(name, "-"))] }
