// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestTheOwnerOfAnUnreadableWorkloadMayCorrectIt: the CRD accepts quantities that Kubernetes' types cannot represent.
func TestTheOwnerOfAnUnreadableWorkloadMayCorrectIt(t *testing.T) {
	readable := job(2)
	readable.Spec.Tasks[0].Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	good := raw(t, readable)
	bad := runtime.RawExtension{Raw: bytes.ReplaceAll(good.Raw, []byte(`"cpu":"1"`), []byte(`"cpu":"1e1.5"`))}
	for name, c := range map[string]struct {
		before, after runtime.RawExtension
		wantHeld      bool
	}{
		"becomes readable":   {bad, good, false},
		"becomes unreadable": {good, bad, true},
		"stays unreadable":   {bad, bad, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &controlPlane{binding: newBinding(ofJob, granting)}
			w := &Workloads{Binding: p.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Patch: p.Patch, Now: func() time.Time { return noon }}
			response := w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, OldObject: c.before, Object: c.after,
			}})
			if !response.Allowed {
				t.Fatalf("refused: %s", messageOf(response))
			}
			if held := has(p.binding, binding.HoldAnnotation); held != c.wantHeld {
				t.Errorf("held is %t, want %t", held, c.wantHeld)
			}
			if warnings := strings.Join(response.Warnings, "\n"); c.wantHeld && !strings.Contains(warnings, "it cannot be read") {
				t.Errorf("got warnings %q, want the reason", warnings)
			}
		})
	}
}
