package quota

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestCards(t *testing.T) {
	for _, c := range []struct {
		name, text, want, wantErr string
	}{
		{name: "an empty object", text: "{}"},
		{name: "models and shares of models", text: `{"NVIDIA-H200": 8, "NVIDIA-H800/mps-80g*1/2": 0}`, want: "NVIDIA-H200:8 NVIDIA-H800/mps-80g*1/2:0"},
		{name: "the largest number", text: `{"A": 9223372036854775807}`, want: "A:9223372036854775807"},
		{name: "nothing", text: "", wantErr: "at character 0: it is no JSON: EOF"},
		{name: "no JSON", text: "H200=8", wantErr: "at character 0: it is no JSON"},
		{name: "cut off", text: `{"A": 8`, wantErr: "at character 7: it is no JSON: EOF"},
		{name: "no object", text: `["A"]`, wantErr: "at character 1: it is no object"},
		{name: "negative", text: `{"A": -1}`, wantErr: "at character 8: -1 for A is no whole number from 0 to 9223372036854775807; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}"},
		{name: "a fraction", text: `{"A": 1.5}`, wantErr: "1.5 for A is no whole number"},
		{name: "a string", text: `{"A": "8"}`, wantErr: "what is written for A is no number"},
		{name: "an object inside", text: `{"A": {}}`, wantErr: "what is written for A is no number"},
		{name: "too large", text: `{"A": 9223372036854775808}`, wantErr: "9223372036854775808 for A is no whole number"},
		{name: "twice", text: `{"A": 1, "A": 2}`, wantErr: "A is listed twice"},
		{name: "no name", text: `{"": 1}`, wantErr: `"" is no card name`},
		{name: "something after it", text: `{"A": 1} x`, wantErr: "something follows the object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{schedulingv1beta1.CardQuotaAnnotation: c.text}}}
			cards, err := Cards(queue, &dimensions)
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
	if cards, err := Cards(&schedulingv1beta1.Queue{}, &ledger.Dimensions{}); cards != nil || err != nil {
		t.Errorf("without the annotation: %v, %v", cards, err)
	}
}
