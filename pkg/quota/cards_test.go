// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestCards(t *testing.T) {
	for _, annotation := range CardAnnotations {
		t.Run(annotation, func(t *testing.T) { testCards(t, annotation) })
	}
}

func testCards(t *testing.T, annotation string) {
	for _, c := range []struct {
		name, text, want, wantErr string
	}{
		{name: "an empty object", text: "{}"},
		{name: "models and shares of models", text: `{"NVIDIA-H200": 8, "NVIDIA-H800/mps-80g*1/2": 0}`, want: "NVIDIA-H200=8 NVIDIA-H800/mps-80g*1/2=0"},
		{name: "the largest number", text: `{"A": 9223372036854775807}`, want: "A=9223372036854775807"},
		{name: "an empty annotation", text: "", wantErr: "its annotation " + annotation + " is wrong at character 0: it is not JSON: EOF"},
		{name: "negative", text: `{"A": -1}`, wantErr: "at character 8: -1 for A is not a whole number from 0 to 9223372036854775807; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}"},
		{name: "alternatives", text: `{"A": 1, "A|B": 2}`, wantErr: "its annotation " + annotation + ` lists "A|B", which names several cards: give each card a number of its own`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: c.text}}}
			cards, err := Cards(queue, annotation, &dimensions)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want %q", err, c.wantErr)
				}
				return
			}
			if got := asText(&dimensions, cards); err != nil || cards == nil || got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
	if cards, err := Cards(&schedulingv1beta1.Queue{}, annotation, &ledger.Dimensions{}); cards != nil || err != nil {
		t.Errorf("without the annotation: %v, %v", cards, err)
	}
}

func TestCardsOfAQueueThatContradictEachOther(t *testing.T) {
	for _, c := range []struct{ name, quota, deserved, guarantee, want string }{
		{name: "no annotation"},
		{name: "guarantee, deserved, and quota", quota: `{"A": 8}`, deserved: `{"A": 4}`, guarantee: `{"A": 2}`},
		{name: "the same number everywhere", quota: `{"A": 8}`, deserved: `{"A": 8}`, guarantee: `{"A": 8}`},
		{name: "cards that the others do not list", quota: `{"A": 8}`, deserved: `{"B": 4}`, guarantee: `{"C": 2}`},
		{name: "more deserved than the quota", quota: `{"B": 9, "A": 8}`, deserved: `{"B": 9, "A": 9}`, want: "A: 9 in volcano.sh/card.deserved, 8 in volcano.sh/card.quota"},
		{name: "more guaranteed than deserved", quota: `{"A": 8}`, deserved: `{"A": 2}`, guarantee: `{"A": 3}`, want: "A: 3 in volcano.sh/card.guarantee, 2 in volcano.sh/card.deserved"},
		{name: "more guaranteed than the quota", quota: `{"A": 0}`, guarantee: `{"A": 1}`, want: "A: 1 in volcano.sh/card.guarantee, 0 in volcano.sh/card.quota"},
	} {
		var dimensions ledger.Dimensions
		queue, limits := &schedulingv1beta1.Queue{}, Limits{}
		queue.Annotations = map[string]string{}
		for i, text := range []string{c.quota, c.deserved, c.guarantee} {
			if text == "" {
				continue
			}
			queue.Annotations[CardAnnotations[i]] = text
			amounts, err := Cards(queue, CardAnnotations[i], &dimensions)
			if err != nil {
				t.Fatal(err)
			}
			*[]*ledger.Amounts{&limits.Capability, &limits.Deserved, &limits.Guarantee}[i] = amounts
		}
		got := ""
		if found, any := ContradictionOfCards(limits); any {
			got = fmt.Sprintf("%s: %s in %s, %s in %s", dimensions.Dimension(found.Dimension), found.Number, found.More, found.Limit, found.Bound)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
