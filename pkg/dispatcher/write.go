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
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/readiness"
)

const (
	// writers is the number of concurrent patches, and maxWrites that of one namespace, so that no namespace has all of them.
	writers, maxWrites = 16, 8
	// askAgain is the interval between attempts for a patch without an answer.
	askAgain = 200 * time.Millisecond
	// MaxDecisionAge is how old a snapshot may be when something that was decided on it is sent, and how old a renewal of the lease
	// may be when a snapshot is taken. A dispatcher that was stopped and goes on later sends nothing, although it has not
	// noticed yet that another one leads.
	MaxDecisionAge = 5 * time.Second
	// endsTake is how long the ends of grants may take. The grants that come after them must not be too old.
	endsTake = MaxDecisionAge / 2
)

// errHasWorks means that a grant does not end yet.
var errHasWorks = errors.New("the binding has Works, which the cache does not show yet")

// errLags means that a decision was based on an old version of a workload.
var errLags = errors.New("the workload has changed, which the cache does not show yet")

// errTooOld means that a decision was dropped.
var errTooOld = errors.New("the decision is too old to be written, and is made anew")

// write writes each decision with one patch, and returns when the result of each is known. The precondition of a patch is the version of the binding
// at the decision. If the binding has changed since, the next cycle decides again. After until, nothing more is sent.
//
// Namespaces take turns. All decisions are right, but those that come last may be too old by then, and a user may have thousands of workloads, or very large
// ones, or so many claims that it takes seconds to read them.
func (d *Dispatcher) write(ctx context.Context, until time.Time, decisions []decision) {
	claims := d.cache.StoredClaims()
	turns := make(chan struct{}, writers) // who waits longest comes first
	var all errgroup.Group
	for _, own := range byNamespace(decisions) {
		all.Go(func() error {
			slots := make(chan struct{}, maxWrites)
			for _, one := range own {
				if one.readsClaims() {
					_ = knowsClaims(ctx, until, one.Workload, claims) // writeOne asks again
				}
				slots <- struct{}{}
				turns <- struct{}{}
				all.Go(func() error {
					defer func() { <-turns; <-slots }()
					one.err = d.writeOne(ctx, until, one, claims)
					d.metrics.Patched(one.Patch(), one.err)
					return nil
				})
			}
			return nil
		})
	}
	_ = all.Wait() // each decision has its own error
}

// byNamespace returns the decisions with patches of each namespace, in their order.
func byNamespace(decisions []decision) map[string][]*decision {
	of := map[string][]*decision{}
	for i := range decisions {
		if one := &decisions[i]; one.patch != nil {
			namespace := one.Workload.Binding.Namespace
			of[namespace] = append(of[namespace], one)
		}
	}
	return of
}

// readsClaims reports whether a decision is written only if it was based on the stored claims and claim templates.
func (d *decision) readsClaims() bool { return d.counted && !d.raises }

// writeOne writes a decision. Before a grant ends, it asks the API server, because the cache may not show a new Work.
func (d *Dispatcher) writeOne(ctx context.Context, until time.Time, decided *decision, claims *cache.StoredClaims) error {
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
	if decided.readsClaims() {
		if err := knowsClaims(ctx, until, decided.Workload, claims); err != nil {
			return err
		}
	}
	return d.settle(ctx, until, rb, decided.patch, decided.again)
}

// mayLag reports whether a decision must be checked for an old version of the workload. That is so if an update was recorded, or if the workload has a
// grant: the previous leader may have seen a newer version. Of kinds that are not read, the binding says all.
func (d *decision) mayLag() bool {
	w := d.Workload
	return d.counted && (w.State.Change != nil || w.State.Grant != nil) && !w.Template.Fallback
}

// knows returns an error unless the decision was based on the stored version of the workload. An update that the webhook
// recorded may be stored and not in the cache, if the cache lags far behind.
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

// knowsClaims returns an error unless the decision was based on the stored claims and claim templates of a workload. Users may replace them until it is
// granted room.
func knowsClaims(ctx context.Context, until time.Time, w *framework.Workload, claims *cache.StoredClaims) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	differ, err := claims.Differ(ctx, w.Binding.Namespace, w.Needs.Read)
	if err == nil && differ {
		err = errLags
	}
	return err
}

// settle sends a patch until the API server answers. A patch without an answer may have been accepted. Its precondition
// ensures that it is accepted only once.
func (d *Dispatcher) settle(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding, patch []byte, again again) error {
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
		case !sent && (apierrors.IsConflict(err) || readiness.TooLarge(err)): // the informer may be late
			if patch = d.later(ctx, until, rb, again, readiness.TooLarge(err)); patch == nil {
				return err
			}
			continue
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

// later returns the patch of a decision for the stored version of a binding, nil if it does not count for that. If the binding is too large, its status is
// dropped first: it has what each cluster reports, such as all conditions that a Volcano Job ever had, until nothing else fits beside it. Karmada notes it
// again. Whether the decision counts is asked before, too: the status says what has ended.
func (d *Dispatcher) later(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding, again again, tooLarge bool) []byte {
	latest, err := d.read(ctx, until, rb)
	if err != nil || latest == nil || again == nil {
		return nil
	}
	patch := again(latest)
	if patch == nil || !tooLarge {
		return patch
	}
	if len(latest.Status.AggregatedStatus) == 0 || !time.Now().Before(until) {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if latest, err = d.cache.DropStatus(ctx, latest); err != nil {
		return nil
	}
	return again(latest)
}

// patch sends a patch. The API server drops a request when its client does, so nothing is stored much later.
func (d *Dispatcher) patch(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return d.cache.Patch(ctx, rb, patch)
}

// refused reports whether the API server has certainly rejected a request.
func refused(err error) bool {
	return readiness.TooLarge(err) ||
		apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err)
}

// readBack updates the cache with the result of a patch. It returns when the API server has answered or ctx has ended.
// After ctx has ended, this dispatcher decides nothing any more.
func (d *Dispatcher) readBack(ctx context.Context, rb *workv1alpha2.ResourceBinding) error {
	poll := time.NewTicker(askAgain)
	defer poll.Stop()
	for {
		if _, err := d.read(ctx, time.Time{}, rb); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// read updates the cache with the stored version of a binding, and returns it, nil if it is gone. It waits for an answer until a time, or for ever if that
// is zero.
func (d *Dispatcher) read(ctx context.Context, until time.Time, rb *workv1alpha2.ResourceBinding) (*workv1alpha2.ResourceBinding, error) {
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	latest, err := d.cache.Latest(ctx, rb)
	if err == nil && latest != nil {
		d.cache.Wrote(latest)
	}
	return latest, err
}
