// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// ConditionWait configures how PreBind waits for devices with binding conditions (KEP-5007).
type ConditionWait struct {
	// Timeout is the time that devices have to become ready after their allocation.
	Timeout time.Duration
	// Waiting is called once if the pod must wait, with what is missing. Failed is called if a device does not become ready.
	Waiting, Failed func(why string)
}

// waitForConditions waits until the devices of a pod's reserved claims are ready. If they do not become ready, it takes back the
// reservation and the devices. If the scheduler stops, everything stays as it is: the next scheduler continues.
func (c *Cache) waitForConditions(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim, wait ConditionWait) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	err := c.conditions.Wait(waiting, pod, claims, wait.Timeout, wait.Waiting)
	if err == nil {
		return nil
	}
	if c.ctx.Err() != nil {
		return errors.New("the scheduler stops while the pod waits for its devices: the next one goes on")
	}
	var failure *allocation.NotReadyError
	if !errors.As(err, &failure) {
		c.writer.Release(ctx, pod, claims)
		return err
	}
	c.conditions.GiveUp(failure)
	c.writer.Release(ctx, pod, claims)
	c.writer.Deallocate(ctx, pod, failure.Claim) // even if other pods name it
	wait.Failed(failure.Error())
	return err
}

// refuseNotReady returns the failure of an allocated claim whose devices do not become ready, nil if they may. It takes the devices
// back if no other pod uses the claim. PreBind does that, too. This handles the cases that PreBind misses: the scheduler was restarted,
// or another pod uses the claim.
func (s *Session) refuseNotReady(pod *demand.Pod, claim *resourceapi.ResourceClaim) report.Refusal {
	failure := s.conditions.Failure(claim, s.BindingTimeout)
	if failure == nil {
		return nil
	}
	if s.usedAlone(pod.Object, claim) {
		s.conditions.GiveUp(failure)
		s.deallocate(pod.Object, claim)
	}
	return report.DevicesNotReady{Err: failure}
}

// lastChoice outweighs the scores of other plugins for a node.
const lastChoice = -1e6

// Score returns lastChoice for a node if a device picked there recently failed to become ready. Otherwise, it returns 0.
func (s *Session) Score(state *State, node string) float64 {
	state.mu.Lock()
	picked := state.picks[node]
	state.mu.Unlock()
	if picked != nil && slices.ContainsFunc(picked.results, func(result resourceapi.AllocationResult) bool { return s.allocator.HasSpared(&result) }) {
		return lastChoice
	}
	return 0
}

// Scores reports whether Score must be called.
func (s *Session) Scores() bool { return s.allocator != nil && s.allocator.Spares() }
