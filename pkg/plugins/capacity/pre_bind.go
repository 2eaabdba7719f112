// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

var _ framework.BindContextHandler = &plugin{}

// binding is what is bound with a pod.
type binding struct {
	claims []*resourceapi.ResourceClaim
	// err is why the pod must not be bound. Session.Allocate, which the backfill action uses, does not look
	// whether anything failed when the pod was given its node (volcano issue 5116).
	err error
}

// SetupBindContextExtension implements framework.BindContextHandler. Volcano calls it when it has decided to bind the
// pod.
func (p *plugin) SetupBindContextExtension(_ *k8sframework.CycleState, bind *schedulercache.BindContext) {
	if p.session == nil {
		return // the session has the plugin under its other name
	}
	pod := p.snapshot.Known(bind.TaskInfo.Pod)
	if pod == nil {
		return
	}
	var b binding
	if placement := p.existingPlacement(bind.TaskInfo); placement != nil {
		b.err = placement.unbindable
	}
	switch {
	case b.err != nil:
	case !pod.HasClaims || p.devices == nil:
		return
	default:
		b.claims, b.err = p.devices.ClaimsToBind(pod)
	}
	bind.Extensions[Name] = &b
}

// preBinder writes the claims of pods before the pods are bound. It runs in other goroutines than the sessions. Its cache
// is nil if the scheduler does not allocate devices.
type preBinder struct {
	cache *devices.Cache
}

var _ schedulercache.PreBinder = preBinder{}

// PreBind implements schedulercache.PreBinder.
func (b preBinder) PreBind(ctx context.Context, bind *schedulercache.BindContext) error {
	decided, ok := bind.Extensions[Name].(*binding)
	switch {
	case !ok:
		return nil
	case decided.err == nil && b.cache == nil:
		return nil // the configuration has changed since
	case decided.err != nil:
		return fmt.Errorf("devices or cards for pod %s/%s: %w", bind.TaskInfo.Namespace, bind.TaskInfo.Name, decided.err)
	default:
		return b.cache.PreBind(ctx, bind.TaskInfo.Pod, decided.claims)
	}
}

// PreBindRollBack implements schedulercache.PreBinder.
func (b preBinder) PreBindRollBack(ctx context.Context, bind *schedulercache.BindContext) {
	if decided, ok := bind.Extensions[Name].(*binding); ok && decided.err == nil && b.cache != nil {
		b.cache.UndoPreBind(ctx, bind.TaskInfo.Pod, decided.claims)
	}
}
