// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrecord "k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/settings"
)

// Binding is what is bound together with a pod.
type Binding struct {
	Claims []*resourceapi.ResourceClaim
	// Queue is the record of the queue that is charged.
	Queue string
	// Err says why the pod must not be bound. Session.Allocate, which the backfill action uses, ignores failures when
	// the pod gets its node (volcano issue 5116).
	Err error
}

// Bind decides what is bound with a pod. The bound pod has the record of its charge. Bind returns false if the pod must not be bound, or
// is not charged.
func (s *Session) Bind(bind *schedulercache.BindContext) bool {
	pod := s.Snapshot.Known(bind.TaskInfo.Pod)
	if pod == nil || !pod.InLedger {
		return false
	}
	b := Binding{Queue: s.Snapshot.RecordOfQueue(pod.Queue)}
	if placement := s.Of(bind.TaskInfo); placement != nil {
		b.Err = placement.Unbindable
	}
	if b.Err == nil && pod.HasClaims && s.Devices != nil {
		b.Claims, b.Err = s.Devices.ClaimsToBind(pod)
	}
	bind.Extensions[settings.Name] = &b
	s.Snapshot.RememberQueue(pod, s.Snapshot.Ledger.Path(pod.Queue))
	s.Snapshot.Binding(bind.TaskInfo.Pod.UID, bind.TaskInfo.NodeName)
	bound := *bind.TaskInfo
	bound.Pod = chargerecord.OnPod(bind.TaskInfo.Pod, b.Queue, snapshot.RecordOfCards(pod))
	bind.TaskInfo = &bound
	return b.Err == nil
}

// Binder writes the claims of pods before the pods are bound. It runs in other goroutines than the sessions.
type Binder struct {
	// Devices is nil if the scheduler does not allocate devices.
	Devices   *devices.Cache
	Snapshots *snapshot.Cache
	Recorder  clientrecord.EventRecorder
	// Timeout is the time that devices have to become ready.
	Timeout time.Duration
}

var _ schedulercache.PreBinder = Binder{}

// PreBind implements schedulercache.PreBinder.
func (b Binder) PreBind(ctx context.Context, bind *schedulercache.BindContext) error {
	decided, ok := bind.Extensions[settings.Name].(*Binding)
	if !ok {
		return nil
	}
	err := b.preBind(ctx, bind.TaskInfo, decided)
	if err != nil {
		b.Snapshots.BindingFailed(bind.TaskInfo.Pod.UID)
	}
	return err
}

func (b Binder) preBind(ctx context.Context, task *api.TaskInfo, decided *Binding) error {
	switch {
	case decided.Err != nil:
		return fmt.Errorf("devices or cards for pod %s/%s: %w", task.Namespace, task.Name, decided.Err)
	case len(decided.Claims) == 0 || b.Devices == nil: // without devices, the configuration has changed since
		return roomForRecord(task.Pod)
	default:
		return b.preBindClaims(ctx, task, decided)
	}
}

// preBindClaims writes the claims of a pod, and adds their record to the pod. It checks first whether there is room for the record: the pod is
// tried again in every cycle, and may have hundreds of claims.
func (b Binder) preBindClaims(ctx context.Context, task *api.TaskInfo, decided *Binding) error {
	if err := record(task.Pod, expected(decided.Claims, decided.Queue)); err != nil {
		return err
	}
	claims, err := b.Devices.PreBind(ctx, task.Pod, decided.Claims, decided.Queue, b.waitFor(task))
	if err != nil {
		return err
	}
	if err := record(task.Pod, claims); err != nil {
		b.Devices.UndoPreBind(ctx, task.Pod, claims)
		return err
	}
	return nil
}

// record adds the record of claims to a pod, unless there is no room for it: the API server would refuse the condition that says so.
func record(pod *corev1.Pod, claims []*resourceapi.ResourceClaim) error {
	chargerecord.SetClaims(pod, claims)
	err := roomForRecord(pod)
	if err != nil {
		delete(pod.Annotations, chargerecord.ClaimsAnnotation)
	}
	return err
}

// roomForRecord returns an error if the annotations of a pod, including its record, exceed their size limit. The API server accepts a binding with
// more, but then refuses every later status of the pod: the pod would never end, and no condition could say that it is evicted.
func roomForRecord(pod *corev1.Pod) error {
	if err := apivalidation.ValidateAnnotationsSize(pod.Annotations); err != nil {
		return fmt.Errorf("the annotations of pod %s/%s leave no room for the record of its charge: shorten them, or use fewer claims and devices: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// expected returns claims with what is written to them when they are reserved for a pod and has a part in its record. An extended claim gets a
// name then, of unknown length.
func expected(claims []*resourceapi.ResourceClaim, queue string) []*resourceapi.ResourceClaim {
	all := make([]*resourceapi.ResourceClaim, len(claims))
	for i, claim := range claims {
		written, allocation := *claim, *claim.Status.Allocation
		written.Annotations = maps.Clone(claim.Annotations)
		metav1.SetMetaDataAnnotation(&written.ObjectMeta, chargerecord.QueueAnnotation, queue)
		if allocation.AllocationTimestamp == nil {
			allocation.AllocationTimestamp = ptr.To(metav1.Now())
		}
		written.Status.Allocation = &allocation
		if dra.InMemory(claim) {
			written.Name = claim.GenerateName
		}
		all[i] = &written
	}
	return all
}

// waitFor writes events on a pod that waits for its devices, or whose devices do not become ready.
func (b Binder) waitFor(task *api.TaskInfo) devices.ConditionWait {
	return devices.ConditionWait{
		Timeout: b.Timeout,
		Waiting: func(missing string) {
			b.Recorder.Eventf(task.Pod, corev1.EventTypeNormal, report.BindingConditionsPendingReason,
				"The pod waits for its devices before it is bound to node %s: %s is not true yet", task.NodeName, missing)
		},
		Failed: func(why string) {
			b.Recorder.Eventf(task.Pod, corev1.EventTypeWarning, report.DevicesNotReadyReason,
				"The pod is not bound to node %s and waits for other devices: %s", task.NodeName, why)
		},
	}
}

// PreBindRollBack implements schedulercache.PreBinder.
func (b Binder) PreBindRollBack(ctx context.Context, bind *schedulercache.BindContext) {
	decided, ok := bind.Extensions[settings.Name].(*Binding)
	if !ok {
		return
	}
	b.Snapshots.BindingFailed(bind.TaskInfo.Pod.UID)
	if decided.Err == nil && len(decided.Claims) > 0 && b.Devices != nil {
		b.Devices.UndoPreBind(ctx, bind.TaskInfo.Pod, decided.Claims)
	}
}
