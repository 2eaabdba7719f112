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

// ConditionWait is how PreBind waits for devices with binding conditions (KEP-5007).
type ConditionWait struct {
	// Timeout is how long devices have to get ready after their allocation.
	Timeout time.Duration
	// Waiting is called once if the pod has to wait, with what is missing. Failed is called if a device does not get ready.
	Waiting, Failed func(why string)
}

// waitForConditions waits until the devices of claims that are reserved for a pod are ready. If they do not get ready, it takes back the
// reservation and the devices. If the scheduler stops, it leaves everything as it is: the next one goes on.
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
	c.writer.Deallocate(ctx, pod, failure.Claim) // also if pods name it
	wait.Failed(failure.Error())
	return err
}

// refuseNotReady says that devices of an allocated claim do not get ready, nil if they may. It takes them back if no other pod uses the
// claim. PreBind does that, too. This is for what it has not come to: the scheduler was restarted, or the pod is another one.
func (s *Session) refuseNotReady(pod *demand.Pod, claim *resourceapi.ResourceClaim) report.Refusal {
	failure := s.conditions.Failure(claim, s.BindingTimeout)
	if failure == nil {
		return nil
	}
	if !usedByOthers(pod, claim) && s.pending.Of(claim.UID) == nil {
		s.conditions.GiveUp(failure)
		s.deallocate(pod.Object, claim)
	}
	return report.DevicesNotReady{Err: failure}
}

// lastChoice outweighs what other plugins say of a node.
const lastChoice = -1e6

// Score is lastChoice for a node if what was picked there has a device that did not get ready lately.
func (s *Session) Score(state *State, node string) float64 {
	state.mu.Lock()
	picked := state.picks[node]
	state.mu.Unlock()
	if picked != nil && slices.ContainsFunc(picked.results, func(result resourceapi.AllocationResult) bool { return s.allocator.HasSpared(&result) }) {
		return lastChoice
	}
	return 0
}

// Scores reports whether Score needs to be asked.
func (s *Session) Scores() bool { return s.allocator != nil && s.allocator.Spares() }
