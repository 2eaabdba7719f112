// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAPolicyHoldsNothingThatIsToBeCharged: a user names a claim template, replaces it in that moment, and changes the policy before a cycle has charged it.
// While the workload was held, only what was granted was charged.
func TestAPolicyHoldsNothingThatIsToBeCharged(t *testing.T) {
	claims := []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("replaced")}}
	noted := func(rb *workv1alpha2.ResourceBinding) {
		grant := *binding.Read(rb, nil).Grant
		grant.Given = (&binding.Grant{}).Unnoted(claims)
		annotated(binding.GrantAnnotation, grant.Annotation())(rb)
	}
	unchanged := func(*workv1alpha2.ResourceBinding) {}
	for name, tc := range map[string]struct {
		pods int64
		told bool
		now  option
		held bool
	}{
		"clusters have more than was granted": {4, true, unchanged, false},
		"a cycle has noted it":                {4, true, noted, true},
		"it fits the grant":                   {2, true, unchanged, true},
		"clusters have not seen it yet":       {4, false, unchanged, true},
	} {
		b := newWebhook()
		b.Template = func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
			pods := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{ResourceClaims: claims}}
			return &workload.Template{Kind: "Deployment", Namespace: "team", Name: "web", UID: "d", Pods: []workload.PodSet{{Count: tc.pods, Template: pods}}}, nil
		}
		old := newBinding(granting, on("m1", 2), changing, tc.now)
		rb := old.DeepCopy()
		toZone2(rb)
		b.Told = func(*workload.Template, *workv1alpha2.ResourceBinding) bool { return tc.told }
		got, response := ask(t, b, detector, old, rb)
		if held := got != nil && has(got, binding.HoldAnnotation); held != tc.held || response.Allowed != tc.held {
			t.Errorf("%s: held %t, message %q", name, held, messageOf(response))
		}
	}
}
