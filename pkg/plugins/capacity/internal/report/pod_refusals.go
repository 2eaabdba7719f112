// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
)

// PodUnknown refuses a pod that joined the session too late.
type PodUnknown struct{}

// Reason implements Refusal. The next session knows the pod.
func (PodUnknown) Reason() string { return "" }

// Message implements Refusal.
func (PodUnknown) Message() string { return "The scheduler has not read the pod yet" }

// Uncountable refuses a pod or a job whose demand cannot be counted.
type Uncountable struct{ Err error }

// Reason implements Refusal. A claim that is about to be created from its template needs no event.
func (u Uncountable) Reason() string {
	if errors.As(u.Err, new(*dra.NotCreatedError)) {
		return ""
	}
	return TaskRequestFailedReason
}

// Message implements Refusal.
func (u Uncountable) Message() string {
	return "The demand cannot be counted against the quota of the queue: " + u.Err.Error()
}

// ExtendedResource refuses a pod that requests an extended resource that only a DeviceClass offers.
// Volcano v1.14.1 cannot place such a pod: its own checks look for the resource among those that nodes have.
type ExtendedResource struct{ demand.Extended }

// Reason implements Refusal.
func (ExtendedResource) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (e ExtendedResource) Message() string {
	return fmt.Sprintf("The pod requests <%s>, which no node offers. DeviceClass %s offers it by dynamic resource allocation, where Volcano cannot place it: use a ResourceClaim of that class instead",
		e.Resource, e.Class)
}

// CardUnnamed refuses a pod that requests a resource that stands for cards, in a queue that limits cards, while no
// node's labels say which cards these are.
type CardUnnamed struct{ Resource corev1.ResourceName }

// Reason implements Refusal.
func (CardUnnamed) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (c CardUnnamed) Message() string {
	return Uncountable{fmt.Errorf("it requests %s, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product", c.Resource)}.Message()
}
