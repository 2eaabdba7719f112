// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// PodUnknown refuses a pod that joined the session too late.
type PodUnknown struct{}

// Reason implements Refusal. The next session knows the pod.
func (PodUnknown) Reason() string { return "" }

// Message implements Refusal.
func (PodUnknown) Message() string { return "The scheduler has not read the pod yet" }

// Uncountable refuses a pod or job whose demand cannot be counted.
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
	return refusals.Uncountable(u.Err)
}

// EachWay refuses a pod that may get its extended resources in different ways, if each way is refused.
type EachWay struct {
	// Served has the resources that DRA serves in each way. Device plugins serve the others.
	Served [][]corev1.ResourceName
	// Refusals has the refusal of each way.
	Refusals []Refusal
}

// RefuseEachWay returns the refusal of a pod whose variants are all refused.
func RefuseEachWay(variants []*demand.Pod, each []Refusal) Refusal {
	if len(each) == 1 {
		return each[0]
	}
	refusal := EachWay{Refusals: each}
	for _, variant := range variants {
		refusal.Served = append(refusal.Served, variant.Served())
	}
	return refusal
}

// Reason implements Refusal. It is the reason of the preferred way.
func (e EachWay) Reason() string { return e.Refusals[0].Reason() }

// Message implements Refusal. If all ways are refused for the same reason, it appears only once.
func (e EachWay) Message() string {
	first := e.Refusals[0].Message()
	if !slices.ContainsFunc(e.Refusals, func(r Refusal) bool { return r.Message() != first }) {
		return first
	}
	told := make([]string, len(e.Refusals))
	for i, refusal := range e.Refusals {
		told[i] = "on nodes " + where(e.Served[i]) + ": " + refusal.Message()
	}
	return "O" + strings.Join(told, "; ")[1:]
}

func where(served []corev1.ResourceName) string {
	if len(served) == 0 {
		return "with device plugins"
	}
	names := make([]string, len(served))
	for i, name := range served {
		names[i] = string(name)
	}
	return "where DRA serves " + strings.Join(names, " and ")
}

// CardUnnamed refuses a pod in a queue with limited cards. The pod requests a resource that stands for cards, but no
// node label names the card.
type CardUnnamed struct{ Resource corev1.ResourceName }

// Reason implements Refusal.
func (CardUnnamed) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (c CardUnnamed) Message() string {
	return Uncountable{fmt.Errorf("it requests %s, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product", c.Resource)}.Message()
}
