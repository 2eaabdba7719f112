// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"maps"
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// readQueue reads the quotas of a queue. The warnings are about numbers that the scheduler accepts, and reports in events.
func readQueue(raw []byte) (readings []reading, warnings []string, err error) {
	queue := &schedulingv1beta1.Queue{}
	if err := json.Unmarshal(raw, queue); err != nil {
		return nil, nil, err
	}
	dimensions := &ledger.Dimensions{}
	var cards quota.Limits
	for i, into := range []*ledger.Amounts{&cards.Capability, &cards.Deserved, &cards.Guarantee} {
		annotation := quota.CardAnnotations[i]
		amounts, err := quota.Cards(queue, annotation, dimensions)
		*into = amounts
		readings = append(readings, reading{annotation + ": " + queue.Annotations[annotation], err})
	}
	field, err := json.Marshal(queue.Spec.DRA)
	if err != nil {
		return nil, nil, err
	}
	keys, err := json.Marshal(quota.KeysOf(queue))
	if err != nil {
		return nil, nil, err
	}
	_, fieldErr := quota.DevicesInField(queue, dimensions)
	_, keysErr := quota.KeysOf(queue).Limits(dimensions)
	readings = append(readings, reading{"spec.dra: " + string(field), fieldErr}, reading{"keys: " + string(keys), keysErr})
	return readings, doubts(queue, cards, dimensions), nil
}

// doubts returns warnings about contradictory numbers, in the words of the scheduler's events.
func doubts(queue *schedulingv1beta1.Queue, cards quota.Limits, dimensions *ledger.Dimensions) []string {
	found := problems.Problems{}
	if c, any := quota.ContradictionOfCards(cards); any {
		found.ContradictoryCards(queue.Name, dimensions.Dimension(c.Dimension), c)
	}
	// The drivers are unknown, so a capacity with a domain may differ from one without.
	for _, twice := range quota.DevicesListedTwice(queue, dimensions, func(string) bool { return true }) {
		found.DevicesListedTwice(queue.Name, &twice)
	}
	// Lists that cannot be read are refused. The schema refuses contradictions within spec.dra.
	if devices, err := quota.Devices(queue, dimensions); err == nil {
		if c, any := quota.ContradictionOfDevices(devices); any {
			found.ContradictoryDevices(queue.Name, dimensions.Dimension(c.Dimension), c)
		}
	}
	return slices.Sorted(maps.Values(found))
}
