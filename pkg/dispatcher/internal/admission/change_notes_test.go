// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"slices"
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
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAChangeNotesClaimsThatClustersMayHave: a user changes the claim template of a workload twice before the dispatcher has noted the first one, and
// replaces that by one of more devices.
func TestAChangeNotesClaimsThatClustersMayHave(t *testing.T) {
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
	empty := func(rb *workv1alpha2.ResourceBinding) {
		grant := *binding.Read(rb, nil).Grant
		grant.Amounts = nil
		annotated(binding.GrantAnnotation, grant.Annotation())(rb)
	}
	noteOf := func(name string) string {
		return (&binding.Grant{}).Unnoted([]corev1.PodResourceClaim{{ResourceClaimTemplateName: ptr.To(name)}})[0]
	}
	earlier := annotated(binding.ChangeAnnotation, (&binding.Change{Given: []string{noteOf("earlier")}}).Annotation())
	for name, c := range map[string]struct {
		before *appsv1.Deployment
		now    option
		want   []string
	}{
		"it is noted":                               {deployment(2, names("noted")), noted, nil},
		"it is not noted yet":                       {deployment(2, names("new")), noted, []string{noteOf("new")}},
		"nor is that of the change before":          {deployment(2, names("new")), earlier, []string{noteOf("earlier"), noteOf("new")}},
		"clusters have no pods":                     {deployment(0, names("new")), empty, nil},
		"they may have pods that end":               {deployment(0, names("new")), noted, []string{noteOf("new")}},
		"clusters have none":                        {deployment(2), noted, nil},
		"it is held, and clusters have not seen it": {deployment(4, names("new")), held(growing), nil},
		"only its placement is held":                {deployment(2, names("new")), held(placing), []string{noteOf("new")}},
	} {
		for grows, replicas := range map[string]int32{"stays": 2, "grows": 5} {
			plane := controlPlane{binding: newBinding(granting, on("m1", 2), noted, c.now)}
			w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, ClaimsLag: lagging(false, nil), Patch: plane.Patch, Now: func() time.Time { return noon }}
			w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, Namespace: "team", Name: "web", OldObject: raw(t, c.before), Object: raw(t, deployment(replicas, names("wanted"))),
			}})
			slices.Sort(c.want)
			if change := binding.Read(plane.binding, nil).Change; change == nil || !slices.Equal(change.Given, c.want) {
				t.Errorf("%s, and it %s: the change is %+v, want notes %q", name, grows, change, c.want)
			}
		}
	}
}

// lagging answers whether the claims that were counted are others than those that are stored.
func lagging(lags bool, err error) func(context.Context, *workload.Template, *workv1alpha2.ResourceBinding) (bool, error) {
	return func(context.Context, *workload.Template, *workv1alpha2.ResourceBinding) (bool, error) {
		return lags, err
	}
}

// TestAChangeThatNamesAReplacedClaimWaits: a user creates a claim template again with more devices, and names it before the webhook has seen it.
func TestAChangeThatNamesAReplacedClaimWaits(t *testing.T) {
	names := func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("replaced")}}
	}
	for name, tc := range map[string]struct {
		lags        bool
		err         error
		held, added bool
	}{
		"it was replaced":   {lags: true, held: true, added: true},
		"it is as counted":  {added: true},
		"it cannot be read": {err: errors.New("no answer")},
	} {
		plane := controlPlane{binding: newBinding(granting, on("m1", 2))}
		w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, ClaimsLag: lagging(tc.lags, tc.err), Patch: plane.Patch, Now: func() time.Time { return noon }}
		response := w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, Namespace: "team", Name: "web", OldObject: raw(t, deployment(2)), Object: raw(t, deployment(2, names)),
		}})
		if state := binding.Read(plane.binding, nil); response.Allowed != tc.added || state.Hold.Hides() != tc.held {
			t.Errorf("%s: got response %+v and hold %+v", name, response, state.Hold)
		}
	}
}

// TestWhatIsToBeChargedIsNotHeldBefore: a user names a claim template, replaces it in that moment, and makes the workload grow before a cycle has charged it.
// While it was held, only what was granted was charged.
func TestWhatIsToBeChargedIsNotHeldBefore(t *testing.T) {
	names := func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("replaced")}}
	}
	for name, tc := range map[string]struct {
		before *appsv1.Deployment
		lags   bool
		now    option
		held   bool
	}{
		"the webhook has seen the larger one":     {deployment(4, names), false, func(*workv1alpha2.ResourceBinding) {}, false},
		"it has not seen the larger one yet":      {deployment(2, names), true, func(*workv1alpha2.ResourceBinding) {}, false},
		"it is as counted":                        {deployment(2, names), false, func(*workv1alpha2.ResourceBinding) {}, true},
		"it names none":                           {deployment(4), false, func(*workv1alpha2.ResourceBinding) {}, true},
		"it is held, and clusters do not see one": {deployment(4, names), true, held(growing), true},
		"only its placement is held":              {deployment(4, names), false, held(placing), false},
	} {
		plane := controlPlane{binding: newBinding(granting, on("m1", 2), tc.now)}
		w := &Workloads{Object: plane.Object, Binding: plane.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, ClaimsLag: lagging(tc.lags, nil), Patch: plane.Patch, Now: func() time.Time { return noon }}
		response := w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, Namespace: "team", Name: "web", OldObject: raw(t, tc.before), Object: raw(t, deployment(6)),
		}})
		if state := binding.Read(plane.binding, nil); response.Allowed != tc.held || state.Hold.Hides() != tc.held {
			t.Errorf("%s: got response %+v and hold %+v", name, response, state.Hold)
		}
	}
}
