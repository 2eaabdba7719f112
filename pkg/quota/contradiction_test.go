// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

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
