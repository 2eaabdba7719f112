// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// ClaimsPath is where the webhook configuration finds Claims.
const ClaimsPath = "/validate-claim"

// Claims is the validating webhook for claims and claim templates. A new one that replaces a deleted one must not give a workload
// more devices than its grant.
type Claims struct {
	// GrowsWith returns a workload that would exceed its grant, or could not be counted, with a *resourceapi.ResourceClaim or a
	// *resourceapi.ResourceClaimTemplate. It returns nil if there is none. If the object is new, the error may be framework.ErrOtherDevices.
	GrowsWith func(given metav1.Object, isNew bool) (*workload.Template, []binding.Amount, error)
	// ClusterWithOther returns a cluster that keeps another object with the name of a new one, "" if there is none.
	ClusterWithOther func(ctx context.Context, given metav1.Object) (string, error)
}

// Handle answers one request.
func (c *Claims) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	decoded, err := decode[runtime.Object](req.Object.Raw)
	if err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	var given metav1.Object
	switch o := decoded.(type) {
	case *resourceapi.ResourceClaim:
		given = o
	case *resourceapi.ResourceClaimTemplate:
		given = o
	default:
		return ctrladmission.Errored(http.StatusBadRequest, fmt.Errorf("a %T is neither a claim nor a claim template", decoded))
	}
	given.SetNamespace(req.Namespace)
	t, more, err := c.GrowsWith(given, req.Operation == admissionv1.Create)
	switch {
	case t == nil && err != nil:
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	case t == nil && req.Operation == admissionv1.Create:
		return c.create(ctx, req, given)
	case t == nil:
		return ctrladmission.Allowed("")
	case errors.Is(err, framework.ErrOtherDevices):
		return ctrladmission.Denied(fmt.Sprintf("%s %s/%s takes the place of another one that pods of %s %s may name, and would give them other devices than its "+
			"queue has granted: use another name, or delete that first", req.Kind.Kind, given.GetNamespace(), given.GetName(), t.Kind, t.Name))
	}
	why := listed(more) + " more"
	if err != nil {
		why = "it could not be counted: " + err.Error()
	}
	return ctrladmission.Denied(fmt.Sprintf("%s %s/%s is named by %s %s, which would need more than its queue has granted: %s. Delete that first, or use another name",
		req.Kind.Kind, given.GetNamespace(), given.GetName(), t.Kind, t.Name, why))
}

// create refuses a new object while clusters keep another one of its name.
func (c *Claims) create(ctx context.Context, req ctrladmission.Request, given metav1.Object) ctrladmission.Response {
	cluster, err := c.ClusterWithOther(ctx, given)
	switch {
	case err != nil:
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	case cluster != "":
		return ctrladmission.Denied(fmt.Sprintf("%s %s/%s takes the place of one with other devices, which cluster %s keeps until its ResourceBinding and its Work are gone: "+
			"try again then, or use another name", req.Kind.Kind, given.GetNamespace(), given.GetName(), cluster))
	}
	return ctrladmission.Allowed("")
}
