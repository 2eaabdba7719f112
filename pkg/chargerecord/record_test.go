// SPDX-License-Identifier: Apache-2.0

package chargerecord

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"other": "stays", QueueAnnotation: "root/forged", CardsAnnotation: `{"nvidia.com/gpu":"forged"}`}}}
	for _, c := range []struct {
		name  string
		path  []string
		cards map[corev1.ResourceName]string
		text  string
	}{
		{name: "a queue below others", path: []string{"team-a", "org", "root"}, text: "root/org/team-a"},
		{name: "a queue alone", path: []string{"team-a"}, text: "team-a"},
		{name: "cards", path: []string{"team.a"}, cards: map[corev1.ResourceName]string{"nvidia.com/gpu": "NVIDIA-H100", "nvidia.com/mig-1g.18gb": "NVIDIA-H200/mig-1g.18gb"}, text: "team.a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorded := OnPod(pod, Queue(c.path), Cards(c.cards))
			if got := recorded.Annotations[QueueAnnotation]; got != c.text {
				t.Errorf("the record is %q, want %q", got, c.text)
			}
			if diff := cmp.Diff(c.path, Path(recorded)); diff != "" {
				t.Error("path: -want +got:\n", diff)
			}
			if diff := cmp.Diff(c.cards, CardsOf(recorded)); diff != "" {
				t.Error("cards: -want +got:\n", diff)
			}
			if recorded.Annotations["other"] != "stays" || pod.Annotations[QueueAnnotation] != "root/forged" {
				t.Error("other annotations, or those of the pod itself, have changed")
			}
		})
	}
}

func TestARecordThatSomebodyElseWroteIsLeftOut(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"nvidia.com/gpu":8}`, strings.Repeat("x", maxLength+1)} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{CardsAnnotation: text}}}
		if cards := CardsOf(pod); len(cards) > 0 {
			t.Errorf("cards of %.20q: %v", text, cards)
		}
	}
	for _, text := range []string{"", strings.Repeat("x", maxLength+1)} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{QueueAnnotation: text}}}
		if path := Path(pod); path != nil {
			t.Errorf("path of %.20q: %v", text, path)
		}
	}
}
