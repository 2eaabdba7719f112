// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// uncharged reports whether clusters may have more of a workload than its grant, because a claim that it names was replaced just when it was named, and no
// cycle has charged that yet. While the workload is held, nobody can tell any more what clusters have, so that it must be charged before.
func (w *Workloads) uncharged(ctx context.Context, c *change, rb *workv1alpha2.ResourceBinding, state *binding.State) (bool, error) {
	if c.isNew || state.Hold.Hides() || len(unnoted(c.before, state.Grant)) == 0 {
		return false, nil
	}
	switch more, err := w.Exceeds(c.before, rb); {
	case err != nil:
		return false, nil // its user may have to correct it
	case len(more) > 0:
		return true, nil
	}
	return w.ClaimsLag(ctx, c.before, rb)
}

// refuse refuses an update of a workload with a grant that must not be held either. It returns nil if it does not.
func (w *Workloads) refuse(ctx context.Context, c *change, rb *workv1alpha2.ResourceBinding, state *binding.State) (*ctrladmission.Response, error) {
	if why := c.forbidden(rb, state.Hold); why != "" {
		return ptr.To(ctrladmission.Denied(c.name() + " " + why)), nil
	}
	if uncharged, err := w.uncharged(ctx, c, rb, state); !uncharged || err != nil {
		return nil, err
	}
	return tryAgain(c.name()), nil
}

// uncharged is Workloads.uncharged for an update of a binding that is to be held although clusters have been told its workload, for example because
// of a new placement.
func (b *Bindings) uncharged(old *workv1alpha2.ResourceBinding, t *workload.Template) bool {
	state := binding.Read(old, nil)
	if state.Finished || len(unnoted(t, state.Grant)) == 0 || !b.Told(t, old) {
		return false
	}
	more, err := b.Exceeds(t, old)
	return err == nil && len(more) > 0
}

// tryAgain refuses an update for a few seconds.
func tryAgain(name string) *ctrladmission.Response {
	return ptr.To(ctrladmission.Errored(http.StatusConflict,
		fmt.Errorf("%s names a claim or claim template that was just replaced, and is about to be charged for that: try again in a few seconds", name)))
}
