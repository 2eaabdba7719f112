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
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Refusal says why a pod or job waits.
type Refusal interface {
	// Reason returns the reason of the event. It is empty if no event is needed because the condition of the pod is enough.
	Reason() string
	// Message returns the sentence in the event and in the condition.
	Message() string
}

// BindingFailed refuses a pod for a while after its binding failed. The event of the failure says why.
type BindingFailed struct{}

// Reason implements Refusal. The state ends by itself.
func (BindingFailed) Reason() string { return "" }

// Message implements Refusal.
func (BindingFailed) Message() string {
	return "The pod was given a node, but could not be bound: its event FailedScheduling says why. Others come first for up to ten seconds, then it is tried again"
}

// NodeRefusal says why a node is not suitable for a pod.
type NodeRefusal struct {
	Message string
	// Unresolvable says that no eviction on the node makes it suitable.
	Unresolvable bool
}

// Reasons of events on what waits.
const (
	// DeviceAllocatedTwiceReason says that a claim of the pod has a device that another claim has, too.
	DeviceAllocatedTwiceReason = "DeviceAllocatedTwice"
	// DevicesNotReadyReason says that a device of the pod failed before the pod was bound, or did not get ready in time.
	DevicesNotReadyReason = "DevicesNotReady"
	// InsufficientDevicesReason says that the quota allows the devices, but no node has them free.
	InsufficientDevicesReason = "InsufficientDevices"
	// NeverFitsReason says that no node is large enough for a pod, or has the labels that it selects: neither time nor more quota helps.
	NeverFitsReason = "NeverFits"
	// BindingConditionsPendingReason says that the pod has a node, and waits for its devices to get ready. Kube-scheduler has the same.
	BindingConditionsPendingReason = "BindingConditionsPending"

	// TaskRequestFailedReason is that of package refusals.
	TaskRequestFailedReason = refusals.TaskRequestFailedReason
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

// Subject is what the scheduler allocates.
type Subject string

// Subjects.
const (
	Devices Subject = "devices"
	Cards   Subject = "cards"
)

// NotReady says what the scheduler does not know yet and needs to allocate devices or cards. A nil NotReady means that everything is known.
type NotReady struct {
	Subject Subject
	// Queue is the queue whose quota is unknown. It is empty if the state of the cluster is unknown.
	Queue string
	Why   string
}

// Reason implements Refusal. The condition of the pod is enough.
func (*NotReady) Reason() string { return "" }

// Message implements Refusal.
func (n *NotReady) Message() string {
	if n.Queue != "" {
		return fmt.Sprintf("Queue <%s> cannot use %s: %s", n.Queue, n.Subject, n.Why)
	}
	return fmt.Sprintf("The scheduler cannot allocate %s yet: %s", n.Subject, n.Why)
}

// CatchingUp returns the NotReady of a scheduler that has just started and lacks a pod with devices or cards, or with a nominated node.
func CatchingUp(subject Subject, missing *corev1.Pod) *NotReady {
	return &NotReady{Subject: subject, Why: fmt.Sprintf(
		"the scheduler has just started and is still reading pods that hold devices or cards or have a nominated node, %s/%s among them", missing.Namespace, missing.Name)}
}

// QuotaExceeded refuses a request that exceeds the quota of a queue or an ancestor.
type QuotaExceeded struct {
	refusals.Quota
	// AskedFor are the classes that the pod asks for, if the refused dimension is of another class that the picked devices match.
	AskedFor []string
	// OtherCards lists the other cards that the pod accepts, if the quota allows none of them.
	OtherCards []string
	// NoNode says why no node would do for a pod even with more quota. It is empty if some would.
	NoNode string
}

// Reason is the reason of the event. Who waits for a node that does not exist does not wait for the quota.
func (q QuotaExceeded) Reason() string {
	if q.NoNode != "" {
		return NeverFitsReason
	}
	return q.Quota.Reason()
}

// Message implements Refusal.
func (q QuotaExceeded) Message() string {
	message := q.Quota.Message()
	if q.NoNode != "" {
		message = q.NoNode + ". " + message
	}
	if len(q.AskedFor) > 0 {
		message += fmt.Sprintf("; the pod asks for devices of %s, and a device counts for every limited class that it matches", refusals.List(q.AskedFor))
	}
	if len(q.OtherCards) > 0 {
		message += "; nor is there quota for another card that the pod may get: " + refusals.List(q.OtherCards)
	}
	return message
}

// NeverFits refuses a pod whose quota has room, and for which no node would do even if it were empty.
type NeverFits struct{ NoNode string }

// Reason implements Refusal.
func (NeverFits) Reason() string { return NeverFitsReason }

// Message implements Refusal.
func (n NeverFits) Message() string {
	return n.NoNode + ". The quota of the queue allows it: change what the pod asks for, or add such nodes"
}

// NoNodeForOtherCards refuses a pod that may choose among cards: the quota forbids some of them, and no node can take
// the pod with the others.
type NoNodeForOtherCards struct {
	QuotaExceeded
	// Others lists the cards that the quota allows.
	Others []string
	// Nodes is Volcano's summary of why no node is suitable.
	Nodes string
}

// Message implements Refusal. The summary repeats the refusal of the quota for each node with the card: this part is shortened.
func (n NoNodeForOtherCards) Message() string {
	nodes := strings.ReplaceAll(n.Nodes, n.Refusal.String(), fmt.Sprintf("no quota for <%s>", n.Dimension))
	return fmt.Sprintf("%s; there is quota for %s, but no node for the pod: %s", n.QuotaExceeded.Message(), refusals.List(n.Others), nodes)
}

// DevicesUnlisted refuses devices if a listed class is required, but no queue on the way to the root lists one of theirs.
type DevicesUnlisted struct{ Queue, Class string }

// Reason implements Refusal.
func (DevicesUnlisted) Reason() string { return refusals.EmptyQueueCapabilityReason }

// Message implements Refusal.
func (d DevicesUnlisted) Message() string {
	return fmt.Sprintf("Queue <%s> has no quota for devices of class <%s>, nor for another class that such a device matches: %s", d.Queue, d.Class, refusals.ListClass)
}

// ResourceUnknown refuses a pod or job that requests a resource that no node offers and no queue's quota lists.
type ResourceUnknown struct {
	demand.UnknownResourceError
	Queue string
}

// Reason implements Refusal.
func (ResourceUnknown) Reason() string { return refusals.InsufficientScalarQuotaReason }

// Message implements Refusal.
func (r ResourceUnknown) Message() string {
	return refusals.ResourceUnknown(r.Queue, string(r.Resource), r.Amount)
}

// RefusedByQuota returns the refusal of the ledger that a refusal is based on, nil if there is none. Of several ways to get
// extended resources, the preferred one counts.
func RefusedByQuota(refusal Refusal) *ledger.Refusal {
	switch r := refusal.(type) {
	case QuotaExceeded:
		return r.Refusal
	case NoNodeForOtherCards:
		return r.QuotaExceeded.Refusal
	case ProtectedByGangs:
		return RefusedByQuota(r.Refusal)
	case EachWay:
		return RefusedByQuota(r.Refusals[0])
	default:
		return nil
	}
}
