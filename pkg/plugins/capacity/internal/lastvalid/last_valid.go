// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/quota"
)

// lastValid has the last valid quotas of a queue. The annotation volcano.sh/last-valid-quota stores it as JSON.
type lastValid struct {
	// UID is that of the queue that had these quotas. A queue that is created with the annotation of another one has not lost
	// them.
	UID types.UID `json:"uid"`
	// Generation is the metadata.generation of the queue that had these quotas. A removal of spec.dra on purpose changes
	// metadata.generation. A write that loses spec.dra, because the CRD lacks the field, leaves it as it is, unless that write
	// changes another field of the spec.
	Generation int64 `json:"generation"`
	// DRA is spec.dra. It is nil if the queue limits no devices.
	DRA *schedulingv1beta1.DRAQuota `json:"dra,omitempty"`
	// Keys are the quotas of devices in the form of Volcano 1.15. It is nil if the queue has none.
	Keys *quota.DeviceKeys `json:"keys,omitempty"`
	// Cards is the annotation volcano.sh/card.quota. It is nil if the queue does not have the annotation.
	Cards *string `json:"cards,omitempty"`
	// CardsDeserved is the annotation volcano.sh/card.deserved, and CardsGuarantee is volcano.sh/card.guarantee.
	CardsDeserved  *string `json:"cardsDeserved,omitempty"`
	CardsGuarantee *string `json:"cardsGuarantee,omitempty"`
}

// cards returns the fields for quota.CardAnnotations, in the same order.
func (l *lastValid) cards() [len(quota.CardAnnotations)]**string {
	return [...]**string{&l.Cards, &l.CardsDeserved, &l.CardsGuarantee}
}

// queue returns a queue that has these quotas.
func (l *lastValid) queue() *schedulingv1beta1.Queue {
	queue := &schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{DRA: l.DRA}}
	if l.Keys != nil {
		queue.Spec.Capability, queue.Spec.Deserved, queue.Spec.Guarantee.Resource = l.Keys.Capability, l.Keys.Deserved, l.Keys.Guarantee
	}
	queue.Annotations = map[string]string{}
	for i, value := range l.cards() {
		if *value != nil {
			queue.Annotations[quota.CardAnnotations[i]] = **value
		}
	}
	return queue
}

// text returns the value of the annotation. It is empty if the queue has no quota.
func (l lastValid) text() string {
	if l.DRA == nil && l.Keys == nil && l.Cards == nil && l.CardsDeserved == nil && l.CardsGuarantee == nil {
		return ""
	}
	text, err := json.Marshal(l)
	utilruntime.Must(err) // numbers, texts, and quantities
	return string(text)
}

// errMalformed omits the message of the JSON decoder, which is about Go.
var errMalformed = errors.New(`it is not of the form {"uid": "...", "generation": 1, "dra": {...}, "cards": "..."}`)

func readLastValid(text string) (lastValid, error) {
	if text == "" {
		return lastValid{}, nil
	}
	var l lastValid
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return lastValid{}, errMalformed
	}
	return l, nil
}

// exact returns a device quota that is unchanged after it is written as JSON and read again.
func exact(dra *schedulingv1beta1.DRAQuota) *schedulingv1beta1.DRAQuota {
	if dra == nil {
		return nil
	}
	dra = dra.DeepCopy()
	for _, quotas := range []schedulingv1beta1.DeviceQuotas{dra.Capability, dra.Deserved, dra.Guarantee} {
		for _, class := range quotas {
			for name, quantity := range class.Capacity {
				class.Capacity[name] = quota.Exact(quantity)
			}
		}
	}
	return dra
}

// limitsDevices reports whether spec.dra limits anything. An empty spec.dra does not.
func limitsDevices(dra *schedulingv1beta1.DRAQuota) bool {
	return dra != nil && len(dra.Capability)+len(dra.Deserved)+len(dra.Guarantee) > 0
}
