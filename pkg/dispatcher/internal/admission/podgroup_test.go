// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAPodGroupGrowsIntoAnUnusedGrantOnlyWhenItIsChecked: it has no pods of its own, and may be charged for clusters that it leaves.
func TestAPodGroupGrowsIntoAnUnusedGrantOnlyWhenItIsChecked(t *testing.T) {
	group := func(cores string) *schedulingv1beta1.PodGroup {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "g"}}
		g.APIVersion, g.Kind = schedulingv1beta1.SchemeGroupVersion.String(), workload.PodGroup.Kind
		g.Spec.Queue, g.Spec.MinResources = "research", &corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}
		return g
	}
	plane := &controlPlane{binding: newBinding(granting, func(rb *workv1alpha2.ResourceBinding) {
		rb.Name = "train-podgroup"
		rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: workload.PodGroup.Kind, Namespace: "team", Name: "train", UID: "g"}
	})}
	w := &Workloads{
		Object: plane.Object, Binding: plane.Binding, Patch: plane.Patch, Now: func() time.Time { return noon },
		Exceeds: func(*workload.Template, *workv1alpha2.ResourceBinding) ([]binding.Amount, error) { return nil, nil },
		Spares:  func(*workload.Template, *workv1alpha2.ResourceBinding) bool { return true },
	}
	response := w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, Namespace: "team", Name: "train", OldObject: raw(t, group("4")), Object: raw(t, group("6")),
	}})
	if hold := plane.binding.Annotations[binding.HoldAnnotation]; !response.Allowed || hold == "" {
		t.Errorf("allowed %v (%v), and the hold is %q", response.Allowed, response.Result, hold)
	}
}
