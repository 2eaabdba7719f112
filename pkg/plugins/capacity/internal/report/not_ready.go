// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

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
