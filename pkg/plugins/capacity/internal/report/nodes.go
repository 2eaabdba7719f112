// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/mistakes"
)

// Node writes an event on a node that has new problems with its cards.
func (r *Reporter) Node(node *corev1.Node, problems []string) {
	message := mistakes.CardsOfNode(problems)
	if message == "" {
		delete(r.toldNodes, node.Name)
		return
	}
	if r.toldNodes[node.Name] != message {
		klog.ErrorS(nil, "The cards of a node cannot be read", "node", klog.KObj(node), "message", message)
		r.Recorder.Event(node, corev1.EventTypeWarning, mistakes.CardsNotReadReason, message)
	}
	r.toldNodes[node.Name] = message
}

// ForgetNode forgets a node that is gone.
func (r *Reporter) ForgetNode(name string) { delete(r.toldNodes, name) }
