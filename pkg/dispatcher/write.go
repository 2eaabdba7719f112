// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"errors"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

const (
	// writers is how many patches are under way at the same time.
	writers = 16
	// askAgain is the interval at which a patch without an answer is sent again.
	askAgain = 200 * time.Millisecond
	// MaxDecisionAge is how old a snapshot may be when something that was decided on it is sent, and how old a renewal of the lease
	// may be when a snapshot is taken. A dispatcher that was stopped and goes on later sends nothing, although it has not
	// noticed yet that another one leads.
	MaxDecisionAge = 5 * time.Second
	// endsTake is how long the ends of grants may take. The grants that come after them must not be too old.
	endsTake = MaxDecisionAge / 2
)

// errHasWorks says that a grant does not end yet.
var errHasWorks = errors.New("the binding has Works, which the cache does not show yet")

// errLags says that a decision was made on an old version of a workload.
var errLags = errors.New("the workload has changed, which the cache does not show yet")

// errTooOld says that a decision is left out.
var errTooOld = errors.New("the decision is too old to be written, and is made anew")

// write writes the decisions, each with one patch, and returns when the fate of each is known. A patch has the version
// of the binding that was decided on as its precondition. If the binding has changed since, the next cycle decides anew. After
// a time, nothing more is sent.
func (d *Dispatcher) write(ctx context.Context, until time.Time, decisions []decision) {
	group := errgroup.Group{}
	group.SetLimit(writers)
	for i := range decisions {
		if decisions[i].patch == nil {
			continue
		}
		group.Go(func() error {
			decisions[i].err = d.writeOne(ctx, until, &decisions[i])
			d.metrics.Patched(decisions[i].Patch(), decisions[i].err)
			return nil
		})
	}
	_ = group.Wait() // each decision has its own error
}

// writeOne writes a decision. The end of a grant is asked about first, because the cache may not show a Work that is there.
func (d *Dispatcher) writeOne(ctx context.Context, until time.Time, decided *decision) error {
	rb := decided.Workload.Binding
	if decided.frees {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		switch works, err := d.cache.HasWorks(ctx, rb); {
		case err != nil:
			return err
		case works:
			return errHasWorks
		}
	}
	if decided.mayLag() {
		if err := d.knows(ctx, until, decided.Workload); err != nil {
			return err
		}
	}
	return d.settle(ctx, until, rb, decided.patch)
}

// mayLag reports whether a decision must not be written if it was made on an old version of the workload: an update of it has been
// recorded, or an old version would be charged that the dispatcher that led before has seen the successor of.
func (d *decision) mayLag() bool {
	w := d.Workload
	return d.counted && w.State.Change != nil || d.raises && !w.Template.Fallback
}

// knows returns an error unless the workload that was decided on is the one that the API server has. An update that the
// webhook has recorded may be stored although the cache does not show it, if the cache lags far behind.
func (d *Dispatcher) knows(ctx context.Context, until time.Time, w *framework.Workload) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	ref := &w.Binding.Spec.Resource
	object, err := d.cache.Object(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), ref.Namespace, ref.Name)
	if err != nil {
		return err
	}
	stored, err := workload.Of(object, d.config.SchedulerNames)
	if stored == nil {
		return err
	}
	if w.Template == nil || workload.Newer(stored.ResourceVersion, w.Template.ResourceVersion) {
		return errLags
	}
	return nil
}

// settle sends a patch until the API server says what has become of it. A patch without an answer may have been
// accepted. Because of its precondition it is accepted once, however often it is sent.
func (d *Dispatcher) settle(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	poll := time.NewTicker(askAgain)
	defer poll.Stop()
	sent := false
	for {
		err := errTooOld
		if time.Now().Before(until) {
			err = d.patch(ctx, until, rb, patch)
		}
		switch {
		case err == nil:
			return nil
		case !sent && (err == errTooOld || refused(err)):
			return err
		case err == errTooOld || refused(err):
			return errors.Join(err, d.readBack(ctx, rb))
		}
		sent = true
		klog.V(2).InfoS("The API server has not answered a patch", "resourceBinding", klog.KObj(rb), "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// patch sends a patch. The API server gives up a request when its client does, so that nothing is stored much later.
func (d *Dispatcher) patch(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return d.cache.Patch(ctx, rb, patch)
}

// refused reports whether the API server has certainly not accepted a request.
func refused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err)
}

// readBack shows the cache what has become of a patch. It returns when the API server has answered, or ctx has ended:
// then this dispatcher decides nothing any more.
func (d *Dispatcher) readBack(ctx context.Context, rb *workv1alpha2.ResourceBinding) error {
	poll := time.NewTicker(askAgain)
	defer poll.Stop()
	for {
		latest, err := d.cache.Latest(ctx, rb)
		if err == nil {
			if latest != nil {
				d.cache.Wrote(latest)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}
