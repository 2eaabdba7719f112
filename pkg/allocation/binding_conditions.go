// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/dra"
)

// waitsForConditions reports whether the scheduler may pick devices with binding conditions, and waits for them (KEP-5007).
func waitsForConditions() bool {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return enabled(features.DRADeviceBindingConditions) && enabled(features.DRAResourceClaimDeviceStatus)
}

// BindingConditions waits until the devices of a pod are ready, before the pod is bound. It remembers devices that did not
// become ready. It is safe for concurrent use.
type BindingConditions struct {
	reader *Reader
	pods   corelisters.PodLister
	clock  clock.Clock

	mu sync.Mutex
	// spared holds the times until which other devices are preferred to devices that did not become ready.
	spared map[dra.DeviceID]time.Time
}

// spareFor is the time for which other devices are preferred after a device did not become ready. In this time, its driver can
// taint or repair it.
const spareFor = 10 * time.Minute

// NewBindingConditions returns a BindingConditions for the claims of a reader. pods reports deletions of waiting pods.
func NewBindingConditions(reader *Reader, pods coreinformers.PodInformer, clock clock.Clock) (*BindingConditions, error) {
	if _, err := pods.Informer().AddEventHandler(reader.waiters.handler()); err != nil {
		return nil, fmt.Errorf("start to wait for pods: %w", err)
	}
	return &BindingConditions{reader: reader, pods: pods.Lister(), clock: clock, spared: map[dra.DeviceID]time.Time{}}, nil
}

// NotReadyError says that the devices of a claim do not become ready.
type NotReadyError struct {
	Claim *resourceapi.ResourceClaim
	// Conditions lists the failed conditions. If none failed, it lists the conditions that are still not true after Timeout.
	Conditions []dra.DeviceCondition
	Timeout    time.Duration
}

func (e *NotReadyError) Error() string {
	name, first := nameOf(e.Claim), e.Conditions[0]
	if e.Timeout > 0 {
		return fmt.Sprintf("ResourceClaim %s: %s is not true <%s> after the allocation%s: see why its driver does not get the device ready in time",
			name, first, e.Timeout, andMore(e.Conditions))
	}
	return fmt.Sprintf("ResourceClaim %s: %s says that the device cannot be used%s: see the log of its driver", name, first, andMore(e.Conditions))
}

// andMore returns text with the number of conditions after the first.
func andMore(conditions []dra.DeviceCondition) string {
	if len(conditions) == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", len(conditions)-1)
}

func nameOf(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

// Failure says why an unbound pod cannot use the devices of a claim. The driver reports that a device cannot be used, or a
// device is not ready in time. Callers then give up the devices. Failure returns nil if neither is the case.
func (b *BindingConditions) Failure(claim *resourceapi.ResourceClaim, timeout time.Duration) *NotReadyError {
	if !waitsForConditions() || claim.Status.Allocation == nil {
		return nil
	}
	if failed := dra.FailedConditions(claim); len(failed) > 0 {
		return &NotReadyError{Claim: claim, Conditions: failed}
	}
	since := claim.Status.Allocation.AllocationTimestamp
	if since == nil || b.clock.Since(since.Time) < timeout {
		return nil
	}
	if unmet := dra.UnmetConditions(claim); len(unmet) > 0 {
		return &NotReadyError{Claim: claim, Conditions: unmet, Timeout: timeout}
	}
	return nil
}

// GiveUp remembers for a while that devices did not become ready. Call it before the devices become free.
func (b *BindingConditions) GiveUp(failure *NotReadyError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, condition := range failure.Conditions {
		b.spared[condition.Device] = b.clock.Now().Add(spareFor)
	}
}

// Failed returns the devices that did not become ready recently, or nil.
func (b *BindingConditions) Failed() map[dra.DeviceID]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.spared, func(_ dra.DeviceID, until time.Time) bool { return !b.clock.Now().Before(until) })
	if len(b.spared) == 0 {
		return nil
	}
	devices := make(map[dra.DeviceID]bool, len(b.spared))
	for id := range b.spared {
		devices[id] = true
	}
	return devices
}

// Wait blocks until all devices of a pod's claims are ready. If it has to wait, it calls tell once with the missing conditions.
// The error is a NotReadyError, or says that the pod or a claim is gone, or that ctx has ended. The claims must be reserved for
// the pod. For an allocation without a timestamp, the timeout starts now.
func (b *BindingConditions) Wait(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim, timeout time.Duration, tell func(missing string)) error {
	if !waitsForConditions() {
		return nil
	}
	objects := []types.UID{pod.UID}
	for _, claim := range claims {
		objects = append(objects, claim.UID)
	}
	changed, stop := b.reader.waiters.wait(objects)
	defer stop()
	begin := b.clock.Now()
	for told := false; ; told = true {
		missing, until, err := b.missing(pod, claims, begin, timeout)
		if err != nil || len(missing) == 0 {
			return err
		}
		if !told {
			tell(missing[0].String() + andMore(missing))
		}
		timer := b.clock.NewTimer(until.Sub(b.clock.Now()))
		select {
		case <-changed:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// missing returns the conditions that are not true yet, and the earliest deadline.
func (b *BindingConditions) missing(pod *corev1.Pod, claims []*resourceapi.ResourceClaim, begin time.Time, timeout time.Duration,
) (missing []dra.DeviceCondition, until time.Time, err error) {
	for _, reserved := range claims {
		claim, err := b.reader.Claim(reserved.Namespace, reserved.Name)
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return nil, until, err
		case err != nil || claim.UID != reserved.UID || claim.DeletionTimestamp != nil:
			return nil, until, fmt.Errorf("ResourceClaim %s was deleted while the pod waited for its devices", nameOf(reserved))
		case claim.Status.Allocation == nil:
			return nil, until, fmt.Errorf("ResourceClaim %s was deallocated while the pod waited for its devices", nameOf(reserved))
		}
		unmet := dra.UnmetConditions(claim)
		if len(unmet) == 0 && len(dra.FailedConditions(claim)) == 0 {
			continue
		}
		if claim.Status.Allocation.AllocationTimestamp == nil {
			claim = claim.DeepCopy()
			claim.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: begin}
		}
		if failure := b.Failure(claim, timeout); failure != nil {
			return nil, until, failure
		}
		missing = append(missing, unmet...)
		if ends := claim.Status.Allocation.AllocationTimestamp.Add(timeout); until.IsZero() || ends.Before(until) {
			until = ends
		}
	}
	if len(missing) > 0 && !b.Knows(pod) {
		return nil, until, errors.New("the pod was deleted while it waited for its devices")
	}
	return missing, until, nil
}

// Knows reports whether the scheduler has read the pod and the pod is not being deleted.
func (b *BindingConditions) Knows(pod *corev1.Pod) bool {
	now, err := b.pods.Pods(pod.Namespace).Get(pod.Name)
	return err == nil && now.UID == pod.UID && now.DeletionTimestamp == nil
}

// stamped returns an allocation with a timestamp, at which the time for its devices to become ready starts. It copies the
// original, which may be in use.
func stamped(allocation *resourceapi.AllocationResult, now time.Time) *resourceapi.AllocationResult {
	if !waitsForConditions() {
		return allocation
	}
	copied := *allocation
	copied.AllocationTimestamp = &metav1.Time{Time: now}
	return &copied
}
