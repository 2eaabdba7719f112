// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// GrantTakes is how long a grant or a change of one may take from the decision to the webhook. It is longer than a decision may be old
// when it is sent, because clocks differ.
const GrantTakes = 10 * time.Second

// AnswerTakes is for how long the API server waits for the answer that a grant is not late, before it refuses the grant: timeoutSeconds of
// the webhook for bindings. A replica that answers may be stopped, too.
const AnswerTakes = 10 * time.Second

// refuseLate admits the writes of the dispatcher, except for late grants. A dispatcher may pause while its request is under way and
// go on when another one leads already.
func (b *Bindings) refuseLate(req ctrladmission.Request) ctrladmission.Response {
	rb, err := decode[*workv1alpha2.ResourceBinding](req.Object.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	old, err := decode[*workv1alpha2.ResourceBinding](req.OldObject.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if !has(rb, binding.GrantAnnotation) || rb.Annotations[binding.GrantAnnotation] == old.Annotations[binding.GrantAnnotation] {
		return ctrladmission.Allowed("") // an unchanged grant is not read, because it may be unreadable
	}
	grant, err := binding.ParseGrant(rb.Annotations[binding.GrantAnnotation])
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	before, err := binding.ParseGrant(old.Annotations[binding.GrantAnnotation])
	if err == nil && before.Queue == grant.Queue && slices.Equal(before.Amounts, grant.Amounts) {
		return ctrladmission.Allowed("") // the growth has been reverted
	}
	switch late := b.Now().Sub(grant.Decided.Time); {
	case late > GrantTakes:
		return ctrladmission.Denied(fmt.Sprintf("%s: the grant was decided on %s ago, and another dispatcher may have granted its room since. It is decided anew",
			nameOf(rb), late.Round(time.Second)))
	case late < -GrantTakes: // it would never be late
		return ctrladmission.Denied(fmt.Sprintf("%s: the grant was decided on %s from now: set the clocks of the dispatchers, so that late grants can be told. It is decided anew",
			nameOf(rb), (-late).Round(time.Second)))
	}
	return ctrladmission.Allowed("")
}
