// SPDX-License-Identifier: Apache-2.0

package chargerecord

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that the scheduler writes to pods and claims, and that users must not write.
const (
	// QueueAnnotation, on a pod that has a node or on an allocated claim, has the names of the queue that is charged
	// and of its ancestors, the highest first: root/org/team-a.
	QueueAnnotation = "volcano.sh/charged-queue"
	// CardsAnnotation, on a pod that has a node, is a JSON object with the name of the card that the pod is charged
	// for each resource that stands for cards: {"nvidia.com/gpu":"NVIDIA-H100-80GB"}.
	CardsAnnotation = "volcano.sh/charged-cards"
)

// separator separates queue names. Queue names cannot contain it.
const separator = "/"

// maxLength is the maximum length of a record, in bytes. Users may write annotations of up to 256 KiB.
const maxLength = 8 << 10

// Queue returns the text of a QueueAnnotation. The path starts with the queue and ends with its topmost ancestor.
func Queue(path []string) string {
	reversed := slices.Clone(path)
	slices.Reverse(reversed)
	return strings.Join(reversed, separator)
}

// Path returns the queue that a pod or claim is charged to, followed by its ancestors. It is nil if the object has no such record.
func Path(object metav1.Object) []string {
	text := object.GetAnnotations()[QueueAnnotation]
	if text == "" || len(text) > maxLength {
		return nil
	}
	path := strings.Split(text, separator)
	slices.Reverse(path)
	return path
}

// Cards returns the text of a CardsAnnotation. It is empty if there are no cards.
func Cards(cards map[corev1.ResourceName]string) string {
	if len(cards) == 0 {
		return ""
	}
	text, err := json.Marshal(cards)
	if err != nil {
		return "" // a map of strings can always be marshaled
	}
	return string(text)
}

// CardsOf returns the cards that a pod is charged for. It is nil if the pod has no such record.
func CardsOf(pod *corev1.Pod) map[corev1.ResourceName]string {
	text := pod.Annotations[CardsAnnotation]
	if text == "" || len(text) > maxLength {
		return nil
	}
	var cards map[corev1.ResourceName]string
	if err := json.Unmarshal([]byte(text), &cards); err != nil {
		return nil // not written by the scheduler; the node tells the cards of the pod
	}
	maps.DeleteFunc(cards, func(_ corev1.ResourceName, card string) bool { return card == "" })
	return cards
}

// OnPod returns a copy of the pod with a record. cards may be empty. The copy shares everything except its annotations with the pod.
func OnPod(pod *corev1.Pod, queue, cards string) *corev1.Pod {
	recorded := *pod
	recorded.Annotations = make(map[string]string, len(pod.Annotations)+2)
	maps.Copy(recorded.Annotations, pod.Annotations)
	recorded.Annotations[QueueAnnotation] = queue
	if _, forged := pod.Annotations[CardsAnnotation]; forged || cards != "" {
		recorded.Annotations[CardsAnnotation] = cards // a binding cannot remove an annotation
	}
	if _, forged := pod.Annotations[ClaimsAnnotation]; forged {
		recorded.Annotations[ClaimsAnnotation] = "" // SetClaims sets it
	}
	return &recorded
}
