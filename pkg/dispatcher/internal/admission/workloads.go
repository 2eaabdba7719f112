// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/conflict"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// WorkloadsPath is where the webhook configuration finds Workloads.
const WorkloadsPath = "/validate-workload"

// Workloads is the validating webhook for the objects that bindings propagate.
//
// It reads the binding from the API server and not from a cache, because the binding may have been granted room a moment ago. Only
// new objects, and those that may need more than before, cost this request.
type Workloads struct {
	// SchedulerNames is the field of the configuration.
	SchedulerNames []string
	// Object reads an object of one of workload.Kinds from the API server. Only requests for the subresource scale need it, because
	// they do not contain the object.
	Object func(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error)
	// Binding reads a binding from the API server.
	Binding func(ctx context.Context, namespace, name string) (*workv1alpha2.ResourceBinding, error)
	// Exceeds returns by how much a workload exceeds the grant of its binding. The error says why the needs cannot be counted or the
	// grant cannot be read.
	Exceeds func(*workload.Template, *workv1alpha2.ResourceBinding) ([]binding.Amount, error)
	// Spares reports whether the grant of a binding exceeds the needs of a workload.
	Spares func(*workload.Template, *workv1alpha2.ResourceBinding) bool
	// ClaimsLag reports whether Exceeds has counted other claims or claim templates than are stored now. It asks the API server.
	ClaimsLag func(context.Context, *workload.Template, *workv1alpha2.ResourceBinding) (bool, error)
	// Patch sends a merge patch. It fails with a conflict if the binding has changed.
	Patch func(ctx context.Context, rb *workv1alpha2.ResourceBinding, patch []byte) error
	// Now returns the time.
	Now func() time.Time
}

// Handle answers one request.
func (w *Workloads) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	if many := workload.TooManyTasks(req.Object.Raw); many != nil && workload.TooManyTasks(req.OldObject.Raw) == nil {
		return ctrladmission.Denied(many.Error())
	}
	c, err := w.changeOf(ctx, req)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	if c == nil || !c.isNew && c.needsNoMore() {
		return ctrladmission.Allowed("")
	}
	c.dryRun = ptr.Deref(req.DryRun, false)
	var response ctrladmission.Response
	err = conflict.Retry(func() error {
		response, err = w.review(ctx, c)
		return err
	})
	if err != nil {
		return failed(c, err)
	}
	return response
}

// review holds the binding of a workload that grows beyond its grant.
func (w *Workloads) review(ctx context.Context, c *change) (ctrladmission.Response, error) {
	rb, err := w.Binding(ctx, c.after.Namespace, names.GenerateBindingName(c.after.Kind, c.after.Name))
	if apierrors.IsNotFound(err) {
		return ctrladmission.Allowed(""), nil
	}
	if err != nil {
		return ctrladmission.Response{}, fmt.Errorf("cannot read its ResourceBinding: %w", err)
	}
	state := binding.Read(rb, nil)
	granted := has(rb, binding.GrantAnnotation)
	switch {
	case state.Deleting, !granted && !has(rb, binding.HoldAnnotation):
		return ctrladmission.Allowed(""), nil
	case c.hasNameOf(rb) && !c.isOf(rb):
		return w.holdFormer(ctx, c, rb, &state)
	case !c.isOf(rb):
		return ctrladmission.Allowed(""), nil
	}
	response := ctrladmission.Allowed("")
	change := &binding.Change{Replaces: c.before.ResourceVersion, Time: metav1.NewTime(w.Now()), Grace: c.grace(&state), Given: c.given(&state)}
	patch := binding.PatchChange(rb, change)
	if granted && c.before.Queue != c.after.Queue && state.Grant != nil {
		response = response.WithWarnings(fmt.Sprintf("%s stays charged to queue %s, which has granted it room. To move it to another queue, "+
			"delete it and create it again", c.name(), state.Grant.Queue))
	}
	if granted {
		if refusal, err := w.refuse(ctx, c, rb, &state); refusal != nil || err != nil {
			return ptr.Deref(refusal, response), err
		}
		why, err := w.growth(ctx, c, rb, &state)
		ends := w.ends(c, rb, &state)
		switch {
		case err != nil:
			return response, err
		case why != "":
			response = response.WithWarnings(fmt.Sprintf("%s: %s. What runs stays as it is until the queue has room for the change", c.name(), why))
		case ends:
			response = response.WithWarnings(fmt.Sprintf("%s: pods that it had before an earlier change may still end. What runs stays as it is until they have", c.name()))
		}
		if why != "" || ends {
			hold := binding.Hold{Queue: c.after.Queue, Ends: ends, Tasks: c.tasksBefore()}
			patch = binding.PatchHoldGrowth(rb, state.Hold, hold, change)
		}
	}
	if c.dryRun {
		return response, nil
	}
	return response, w.Patch(ctx, rb, patch)
}

// growth says why a workload with a grant must wait for more, for people. It returns "" if it need not wait. The user may replace claims that the grant does
// not note just before the workload names them.
func (w *Workloads) growth(ctx context.Context, c *change, rb *workv1alpha2.ResourceBinding, state *binding.State) (string, error) {
	why := growth(c.after, rb, c.unreadable, w.Exceeds)
	if why != "" || len(unnoted(c.after, state.Grant)) == 0 {
		return why, nil
	}
	lags, err := w.ClaimsLag(ctx, c.after, rb)
	if lags {
		why = "a claim or claim template that it names has just been replaced"
	}
	return why, err
}

// holdFormer keeps an object from clusters that takes the place of one with a grant. Karmada makes Works from the object that has the name, whichever that is,
// as soon as something of the binding changes, and users can keep it from noticing that the object is another one.
func (w *Workloads) holdFormer(ctx context.Context, c *change, rb *workv1alpha2.ResourceBinding, state *binding.State) (ctrladmission.Response, error) {
	if !has(rb, binding.GrantAnnotation) || state.Hold.Hides() {
		return ctrladmission.Allowed(""), nil // no cluster gets anything
	}
	hold := binding.Hold{Ends: true}
	if state.Grant != nil {
		hold.Queue = state.Grant.Queue
	}
	response := ctrladmission.Allowed("").WithWarnings(fmt.Sprintf("%s waits until the pods of the one that had this name before have ended", c.name()))
	if c.dryRun {
		return response, nil
	}
	return response, w.Patch(ctx, rb, binding.PatchHoldGrowth(rb, state.Hold, hold, state.Change.Again(w.Now())))
}

// ends reports whether pods that an earlier change replaced may still end beside new ones. The earlier change was admitted since the
// last grant, reduced the needs of the workload, or suspended it.
func (w *Workloads) ends(c *change, rb *workv1alpha2.ResourceBinding, state *binding.State) bool {
	return c.resumes() || c.restarts() || (c.before.Overlaps || c.after.Overlaps) && state.Change != nil || (len(c.before.Pods) > 0 || c.before.Kind == workload.PodGroup.Kind) && w.Spares(c.before, rb)
}

func failed(c *change, err error) ctrladmission.Response {
	code := http.StatusInternalServerError
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code != 0 {
		code = int(status.Status().Code)
	}
	return ctrladmission.Errored(int32(code), fmt.Errorf("%s may grow beyond what it was granted, so its ResourceBinding must be held first: %w. Try again",
		c.name(), err))
}
