// SPDX-License-Identifier: Apache-2.0

package quota

import "testing"

func TestMeantAnnotation(t *testing.T) {
	const cards, deserved, guarantee = "volcano.sh/card.quota", "volcano.sh/card.deserved", "volcano.sh/card.guarantee"
	for key, want := range map[string]string{
		// Annotations that the scheduler reads or writes.
		cards: "", deserved: "", guarantee: "", "volcano.sh/card.usage": "", "volcano.sh/device.usage": "",
		// Common misspellings.
		"card-quota": cards, "card.quota": cards, "cardQuota": cards, "volcano.sh/card-quota": cards, "volcano.sh/card_quota": cards,
		"volcano.sh/cardquota": cards, "volcano.sh/card.quotas": cards, "volcano.sh/cards.quota": cards, "volcano.sh/card.qouta": cards,
		"scheduling.volcano.sh/card.quota": cards, "volcano.io/card.quota": cards, "example.com/card.quota": cards,
		"card-deserved": deserved, "volcano.sh/cardDeserved": deserved, "volcano.sh/card.desserved": deserved, "volcano.sh/card.deserve": deserved,
		"card_guarantee": guarantee, "volcano.sh/card.guaranty": guarantee, "volcano.sh/card.guaranteed": guarantee, "volcano.sh/card.garantee": guarantee,
		// Annotations of other software.
		"volcano.sh/card.name": "", "volcano.sh/card.request": "", "volcano.sh/queue-name": "", "volcano.sh/hierarchy": "", "volcano.sh/hierarchy-weights": "",
		"kubectl.kubernetes.io/last-applied-configuration": "", "meta.helm.sh/release-name": "", "example.com/hardquota": "", "example.com/quota": "", "quota": "", "": "",
	} {
		if got := MeantAnnotation(key); got != want {
			t.Errorf("%q: meant is %q, want %q", key, got, want)
		}
	}
}
