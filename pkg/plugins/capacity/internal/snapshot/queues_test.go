// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// TestQuotasThatCannotBeRead: the last good one holds; who never had one may use no card.
func TestQuotasThatCannotBeRead(t *testing.T) {
	s := &Snapshot{Cache: NewCache(&card.Fleet{}), Problems: report.Problems{}}
	queue := func(quota string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: types.UID("1"), Annotations: map[string]string{schedulingv1beta1.CardQuotaAnnotation: quota}}}
	}
	for _, step := range []struct {
		name, quota, want, problem string
		none                       bool
	}{
		{name: "never a good one", quota: "8 H100", problem: "is wrong at character 1: it is not an object; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}; until then, none of its pods may use a card"},
		{name: "a good one", quota: `{"H100": 8}`, want: "H100:8"},
		{name: "a bad one", quota: `{"H100": -8}`, want: "H100:8", problem: "-8 for H100 is not a whole number from 0 to 9223372036854775807"},
		{name: "still a bad one", quota: `{"H100": 8`, want: "H100:8", problem: "until then, its last valid quota holds"},
		{name: "taken away", none: true},
		{name: "and then a bad one", quota: `[]`, problem: "none of its pods may use a card"},
	} {
		clear(s.Problems)
		object := queue(step.quota)
		if step.none {
			object.Annotations = nil
		}
		cards, lists := s.cardQuota(object)
		var got []string
		for _, e := range cards {
			got = append(got, s.Dimensions.Dimension(e.Dimension).Name+":"+e.Amount.String())
		}
		if strings.Join(got, " ") != step.want || lists == step.none {
			t.Errorf("%s: %v, a list: %t", step.name, got, lists)
		}
		if message := s.Problems[report.Problem{Queue: "q", Reason: report.QuotaNotReadReason}]; !strings.Contains(message, step.problem) || step.problem == "" && message != "" {
			t.Errorf("%s: problem %q, want %q", step.name, message, step.problem)
		}
	}
}
