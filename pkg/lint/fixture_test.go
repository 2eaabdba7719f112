// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// objectsIn reads manifests. Each kind in them counts as known completely.
func objectsIn(t *testing.T, manifests string) *Objects {
	t.Helper()
	objects := &Objects{Known: map[string]bool{}}
	for _, text := range strings.Split(manifests, "---\n")[1:] {
		var of metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &of); err != nil {
			t.Fatal(err)
		}
		objects.Known[of.Kind] = true
		switch of.Kind {
		case "": // a configuration of the scheduler
			objects.Configurations = append(objects.Configurations, &Configuration{Object: Ref{Kind: "SchedulerConfiguration", Name: "-"}, Text: text})
		case Queues:
			objects.Queues = append(objects.Queues, read[schedulingv1beta1.Queue](t, text))
		case Classes:
			objects.Classes = append(objects.Classes, read[resourceapi.DeviceClass](t, text))
		case Slices:
			objects.Slices = append(objects.Slices, read[resourceapi.ResourceSlice](t, text))
		case Nodes:
			objects.Nodes = append(objects.Nodes, read[corev1.Node](t, text))
		case Templates:
			objects.Templates = append(objects.Templates, read[resourceapi.ResourceClaimTemplate](t, text))
		case PriorityClasses:
			objects.PriorityClasses = append(objects.PriorityClasses, read[schedulingv1.PriorityClass](t, text))
		case "Pod":
			objects.Workloads = append(objects.Workloads, read[corev1.Pod](t, text))
		case "Job":
			objects.Workloads = append(objects.Workloads, read[batchv1alpha1.Job](t, text))
		default:
			t.Fatalf("no test has a %s", of.Kind)
		}
	}
	return objects
}

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return object
}
