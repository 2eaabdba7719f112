// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation/internal/apiserver"
)

// after returns the present state of the server.
func (r *replay) after() *clusterstate.State {
	state := *r.before
	state.Items = nil
	for _, resource := range apiserver.Resources {
		if resource.Resource == "events" {
			continue
		}
		for _, object := range r.server.List(resource.Group, resource.Version, resource.Resource) {
			state.Items = append(state.Items, *object)
		}
	}
	return &state
}

// ranBefore returns the names of the pods that ran before, by PodGroup. Pods that were being deleted do not count.
func (r *replay) ranBefore() map[string]map[string]struct{} {
	ran := map[string]map[string]struct{}{}
	for i := range r.before.Items {
		object := &r.before.Items[i]
		if object.GetKind() != "Pod" {
			continue
		}
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil || !holds(&pod) {
			continue
		}
		group := pod.Namespace + "/" + groupNamed(pod.Annotations)
		if ran[group] == nil {
			ran[group] = map[string]struct{}{}
		}
		ran[group][pod.Name] = struct{}{}
	}
	return ran
}

// holds reports whether a pod has a node and has not ended.
func holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func groupNamed(annotations map[string]string) string {
	return annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
}
