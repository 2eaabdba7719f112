// SPDX-License-Identifier: Apache-2.0

package quota

import (
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
		{name: "models and shares of models", text: `{"NVIDIA-H200": 8, "NVIDIA-H800/mps-80g*1/2": 0}`, want: "NVIDIA-H200:8 NVIDIA-H800/mps-80g*1/2:0"},
		{name: "the largest number", text: `{"A": 9223372036854775807}`, want: "A:9223372036854775807"},
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
			var got []string
			for _, e := range cards {
				got = append(got, dimensions.Dimension(e.Dimension).String()+":"+e.Amount.String())
			}
			if err != nil || cards == nil || strings.Join(got, " ") != c.want {
				t.Errorf("got %v (%v), want %s", got, err, c.want)
			}
		})
	}
	if cards, err := Cards(&schedulingv1beta1.Queue{}, annotation, &ledger.Dimensions{}); cards != nil || err != nil {
		t.Errorf("without the annotation: %v, %v", cards, err)
	}
}
