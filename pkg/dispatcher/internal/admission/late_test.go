// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestAGrantThatComesLateIsRefused: a dispatcher may be paused while its request is under way.
func TestAGrantThatComesLateIsRefused(t *testing.T) {
	changedAt := func(granted, decided time.Duration) option {
		grant := binding.Grant{Queue: "research", Time: metav1.NewTime(noon.Add(-granted)), Decided: metav1.NewTime(noon.Add(-decided))}
		if granted != decided { // it has grown
			grant.Amounts = []binding.Amount{{Dimension: ledger.Dimension{Name: "cpu"}, Amount: ledger.Units(2)}}
		}
		return annotated(binding.GrantAnnotation, grant.Annotation())
	}
	grantedAt := func(ago time.Duration) option { return changedAt(ago, ago) }
	for _, c := range []struct {
		name     string
		old, new *workv1alpha2.ResourceBinding
		denied   string
	}{
		{"a new grant", newBinding(held(waiting)), newBinding(grantedAt(GrantTakes)), ""},
		{"a late grant", newBinding(held(waiting)), newBinding(grantedAt(GrantTakes + time.Second)), "the grant was decided on 11s ago"},
		{"a grant by a clock that is a little ahead", newBinding(held(waiting)), newBinding(grantedAt(-GrantTakes)), ""},
		{"a grant by a clock that is far ahead", newBinding(held(waiting)), newBinding(grantedAt(-GrantTakes - time.Second)), "the grant was decided on 11s from now"},
		{"growth of an old grant", newBinding(grantedAt(time.Hour), held(growing)), newBinding(changedAt(time.Hour, GrantTakes)), ""},
		{"late growth", newBinding(grantedAt(time.Hour), held(growing)), newBinding(changedAt(time.Hour, GrantTakes+time.Second)), "the grant was decided on 11s ago"},
		{"the end of growth that its owner has reverted", newBinding(grantedAt(time.Hour), held(growing)), newBinding(grantedAt(time.Hour)), ""},
		{"a hold of what has a grant that nobody can read", newBinding(annotated(binding.GrantAnnotation, "{")), newBinding(annotated(binding.GrantAnnotation, "{"), held(growing)), ""},
		{"the end of an old grant", newBinding(grantedAt(time.Hour)), newBinding(held(waiting)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Bindings{User: "dispatcher", Now: func() time.Time { return noon }}
			response := b.Handle(context.Background(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, UserInfo: authenticationv1.UserInfo{Username: "dispatcher"},
				OldObject: raw(t, c.old), Object: raw(t, c.new),
			}})
			if response.Allowed != (c.denied == "") || !strings.Contains(messageOf(response), c.denied) {
				t.Errorf("allowed is %v, message %q", response.Allowed, messageOf(response))
			}
		})
	}
}
