// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	clientrecord "k8s.io/client-go/tools/record"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/record"
)

var _ framework.BindContextHandler = &plugin{}

// binding is what is bound with a pod.
type binding struct {
	claims []*resourceapi.ResourceClaim
	// queue is the record of the queue that is charged.
	queue string
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
	if pod == nil || !pod.InLedger {
		return
	}
	b := binding{queue: p.snapshot.RecordOfQueue(pod.Queue)}
	if placement := p.existingPlacement(bind.TaskInfo); placement != nil {
		b.err = placement.unbindable
	}
	if b.err == nil && pod.HasClaims && p.devices != nil {
		b.claims, b.err = p.devices.ClaimsToBind(pod)
	}
	bind.Extensions[Name] = &b
	if promise, promised := p.cache.reservations.promises[bind.TaskInfo.Pod.UID]; promised && b.err == nil {
		p.cache.report.Started(promise.action, promise.at)
		delete(p.cache.reservations.promises, bind.TaskInfo.Pod.UID)
	}
	p.snapshot.RememberQueue(pod, p.snapshot.Ledger.Name(pod.Queue))
	p.cache.snapshots.Binding(bind.TaskInfo.Pod.UID, bind.TaskInfo.NodeName)
	bind.TaskInfo = recorded(bind.TaskInfo, b.queue, snapshot.RecordOfCards(pod))
}

// recorded returns the task with the record of its charge on its pod. The binding of the pod writes the pod's annotations.
func recorded(task *api.TaskInfo, queue, cards string) *api.TaskInfo {
	bound := *task
	bound.Pod = record.OnPod(task.Pod, queue, cards)
	return &bound
}

// preBinder writes the claims of pods before the pods are bound. It runs in other goroutines than the sessions.
type preBinder struct {
	// devices is nil if the scheduler does not allocate devices.
	devices   *devices.Cache
	snapshots *snapshot.Cache
	recorder  clientrecord.EventRecorder
	// timeout is how long devices have to get ready.
	timeout time.Duration
}

func (p *plugin) preBinder() preBinder {
	return preBinder{p.devicesCache(), p.cache.snapshots, p.cache.report.Recorder, p.arguments.BindingTimeout}
}

var _ schedulercache.PreBinder = preBinder{}

// PreBind implements schedulercache.PreBinder.
func (b preBinder) PreBind(ctx context.Context, bind *schedulercache.BindContext) error {
	decided, ok := bind.Extensions[Name].(*binding)
	if !ok {
		return nil
	}
	err := b.preBind(ctx, bind.TaskInfo, decided)
	if err != nil {
		b.snapshots.NotBinding(bind.TaskInfo.Pod.UID)
	}
	return err
}

func (b preBinder) preBind(ctx context.Context, task *api.TaskInfo, decided *binding) error {
	switch {
	case decided.err != nil:
		return fmt.Errorf("devices or cards for pod %s/%s: %w", task.Namespace, task.Name, decided.err)
	case len(decided.claims) == 0 || b.devices == nil: // without devices, the configuration has changed since
		return nil
	default:
		return b.devices.PreBind(ctx, task.Pod, decided.claims, decided.queue, b.waitFor(task))
	}
}

// waitFor tells a pod that it waits for its devices, and that they do not get ready.
func (b preBinder) waitFor(task *api.TaskInfo) devices.ConditionWait {
	return devices.ConditionWait{
		Timeout: b.timeout,
		Waiting: func(missing string) {
			b.recorder.Eventf(task.Pod, corev1.EventTypeNormal, report.BindingConditionsPendingReason,
				"The pod waits for its devices before it is bound to node %s: %s is not true yet", task.NodeName, missing)
		},
		Failed: func(why string) {
			b.recorder.Eventf(task.Pod, corev1.EventTypeWarning, report.DevicesNotReadyReason,
				"The pod is not bound to node %s and waits for other devices: %s", task.NodeName, why)
		},
	}
}

// PreBindRollBack implements schedulercache.PreBinder.
func (b preBinder) PreBindRollBack(ctx context.Context, bind *schedulercache.BindContext) {
	decided, ok := bind.Extensions[Name].(*binding)
	if !ok {
		return
	}
	b.snapshots.NotBinding(bind.TaskInfo.Pod.UID)
	if decided.err == nil && len(decided.claims) > 0 && b.devices != nil {
		b.devices.UndoPreBind(ctx, bind.TaskInfo.Pod, decided.claims)
	}
}
