// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestAHoldSaysThatClustersMayHaveClaimsThatNobodyNoted: a user changes the claim template of a workload, and makes the workload grow before the
// dispatcher has noted the template. The template could be replaced by one of more devices for as long as the workload waits.
func TestAHoldSaysThatClustersMayHaveClaimsThatNobodyNoted(t *testing.T) {
	names := func(template string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To(template)}}
		}
	}
	noted := func(rb *workv1alpha2.ResourceBinding) {
		grant := *binding.Read(rb, nil).Grant
		grant.Given = []string{binding.ClaimNote(&resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "noted"}})}
		annotated(binding.GrantAnnotation, grant.Annotation())(rb)
	}
	for name, c := range map[string]struct {
		before *appsv1.Deployment
		hold   option
		want   bool
	}{
		"it is noted":                               {deployment(2, names("noted")), noted, false},
		"it is not noted yet":                       {deployment(2, names("new")), noted, true},
		"clusters have none":                        {deployment(2), noted, false},
		"it is held, and clusters have not seen it": {deployment(4, names("new")), held(growing), false},
	} {
		plane := controlPlane{binding: newBinding(granting, on("m1", 2), noted, c.hold)}
		w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Patch: plane.Patch, Now: func() time.Time { return noon }}
		w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, Namespace: "team", Name: "web", OldObject: raw(t, c.before), Object: raw(t, deployment(5, names("wanted"))),
		}})
		if hold := binding.Read(plane.binding, nil).Hold; hold == nil || hold.Unnoted != c.want {
			t.Errorf("%s: the hold is %+v", name, hold)
		}
	}
}
