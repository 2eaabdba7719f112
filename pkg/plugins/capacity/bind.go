package capacity

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

var _ framework.BindContextHandler = &plugin{}

// binding is what is bound with a pod.
type binding struct {
	claims []*resourceapi.ResourceClaim
	// err is why the pod must not be bound. Session.Allocate, which the backfill action uses, does
	// not look whether anything failed when the pod was given its node (volcano issue 5116).
	err error
}

// SetupBindContextExtension implements framework.BindContextHandler. It is called when it has been
// decided that the pod is bound.
func (p *plugin) SetupBindContextExtension(_ *k8sframework.CycleState, bind *cache.BindContext) {
	known := p.process.pods[bind.TaskInfo.Pod]
	if known == nil {
		return
	}
	b := &binding{err: p.failed[known]}
	switch {
	case b.err != nil:
	case !known.hasClaims || p.source.devices == nil:
		return
	default:
		b.claims, b.err = p.claimsToBind(known)
	}
	bind.Extensions[Name] = b
}

// binder writes what the devices of pods are before they are bound, from other goroutines than
// that of the sessions.
type binder struct {
	*devices
}

var _ cache.PreBinder = binder{}

// PreBind implements cache.PreBinder.
func (b binder) PreBind(ctx context.Context, bind *cache.BindContext) error {
	decided, ok := bind.Extensions[Name].(*binding)
	switch {
	case !ok:
		return nil
	case decided.err == nil && b.devices == nil:
		return nil // from before the configuration was changed
	case decided.err != nil:
		return fmt.Errorf("devices or cards for pod %s/%s: %w", bind.TaskInfo.Namespace, bind.TaskInfo.Name, decided.err)
	default:
		return b.writer.Reserve(ctx, bind.TaskInfo.Pod, decided.claims)
	}
}

// PreBindRollBack implements cache.PreBinder.
func (b binder) PreBindRollBack(ctx context.Context, bind *cache.BindContext) {
	if decided, ok := bind.Extensions[Name].(*binding); ok && decided.err == nil {
		b.writer.Release(ctx, bind.TaskInfo.Pod, decided.claims)
	}
}
