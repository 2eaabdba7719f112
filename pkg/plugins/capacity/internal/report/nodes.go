// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/problems"
)

// Node writes an event on a node that has new problems with its cards.
func (r *Reporter) Node(node *corev1.Node, found []string) {
	message := problems.CardsOfNode(found)
	if message == "" {
		delete(r.notifiedNodes, node.Name)
		return
	}
	if r.notifiedNodes[node.Name] != message {
		klog.ErrorS(nil, "The cards of a node cannot be read", "node", klog.KObj(node), "message", message)
		r.Recorder.Event(node, corev1.EventTypeWarning, problems.CardsNotReadReason, message)
	}
	r.notifiedNodes[node.Name] = message
}

// ForgetNode forgets a node that is gone.
func (r *Reporter) ForgetNode(name string) { delete(r.notifiedNodes, name) }
