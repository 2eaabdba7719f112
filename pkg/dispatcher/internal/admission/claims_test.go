// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestClaimsAndTemplatesThatGiveMoreAreRefused(t *testing.T) {
	web := &workload.Template{Kind: "Deployment", Namespace: "team", Name: "web"}
	more := []binding.Amount{{Dimension: ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"}, Amount: ledger.Units(7)}}
	for _, c := range []struct {
		name, kind string
		grows      *workload.Template
		more       []binding.Amount
		err        error
		cluster    string
		want       string
	}{
		{"a claim template", "ResourceClaimTemplate", web, more, nil, "",
			"ResourceClaimTemplate team/gpu is named by Deployment web, which would need more than its queue has granted: 7 of h100 more. Delete that first, or use another name"},
		{"a claim", "ResourceClaim", web, more, nil, "", "ResourceClaim team/gpu is named by Deployment web"},
		{"one that cannot be counted", "ResourceClaim", web, nil, errors.New("why"), "", "it could not be counted: why"},
		{"one that former pods may name", "ResourceClaim", web, nil, framework.ErrOtherDevices, "",
			"ResourceClaim team/gpu takes the place of another one that pods of Deployment web may name, and would give them other devices than its queue has granted: use another name"},
		{"one that gives nobody more", "ResourceClaim", nil, nil, nil, "", ""},
		{"one that a cluster has with other devices", "ResourceClaim", nil, nil, nil, "m1", "ResourceClaim team/gpu takes the place of one with other devices, which cluster m1 keeps"},
		{"what cannot be read", "ResourceClaim", nil, nil, errors.New("why"), "", "why"},
		{"something else", "ResourceSlice", nil, nil, nil, "", "is neither a claim nor a claim template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			claims := &Claims{GrowsWith: func(given metav1.Object, isNew bool) (*workload.Template, []binding.Amount, error) {
				if given.GetNamespace() != "team" || given.GetName() != "gpu" || !isNew {
					t.Errorf("asked about %s/%s, new: %t", given.GetNamespace(), given.GetName(), isNew)
				}
				return c.grows, c.more, c.err
			}}
			claims.ClusterWithOther = func(context.Context, metav1.Object) (string, error) { return c.cluster, nil }
			response := claims.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Namespace: "team", Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Kind: c.kind},
				Object: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion": "resource.k8s.io/v1", "kind": %q, "metadata": {"name": "gpu"}}`, c.kind)},
			}})
			got := ""
			if response.Result != nil {
				got = response.Result.Message
			}
			if response.Allowed != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("allowed %t, %q, want %q", response.Allowed, got, c.want)
			}
		})
	}
}
