// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// knownQuotas is what is known about the quotas of a queue.
type knownQuotas struct {
	uid types.UID
	// object is the queue as the last session read it.
	object *schedulingv1beta1.Queue
	// last has the last valid quotas. devices and cards are the limits in it.
	last    lastValid
	devices quota.Limits
	// cards has the limits of each of quota.CardAnnotations. They are nil if the queue has no such annotation.
	cards [len(quota.CardAnnotations)]ledger.Amounts
	// dimensions are the dimensions of devices and cards.
	dimensions *ledger.Dimensions
	// text is last in the form of an up-to-date annotation.
	text string
	// seen says that this process has read the queue with a valid spec.dra.
	seen bool
	// present is the number of the latest probe begun when the queue was last read with spec.dra or, if it never was, first read.
	present int
	// absence is not nil if spec.dra is missing although the queue had one.
	absence *absence
	// devicesErr and lastErr say why spec.dra and the annotation with the last valid quotas are invalid. cardErrs has the same
	// for each of quota.CardAnnotations.
	devicesErr, lastErr error
	// keysErr says why quotas in the form of Volcano 1.15 are invalid while their last valid values apply.
	keysErr  error
	cardErrs [len(quota.CardAnnotations)]error
	// writeErr says why the last write of the annotation, or of a lost quota, failed.
	writeErr error
}

// sameQuotas reports whether two versions of a queue have the same quotas.
func sameQuotas(a, b *schedulingv1beta1.Queue) bool {
	return a == b || a.Generation == b.Generation && sameCards(a, b) &&
		a.Annotations[schedulingv1beta1.LastValidQuotaAnnotation] == b.Annotations[schedulingv1beta1.LastValidQuotaAnnotation] &&
		equality.Semantic.DeepEqual(a.Spec.DRA, b.Spec.DRA) && equality.Semantic.DeepEqual(quota.KeysOf(a), quota.KeysOf(b))
}

func sameCards(a, b *schedulingv1beta1.Queue) bool {
	for _, annotation := range quota.CardAnnotations {
		valueA, inA := a.Annotations[annotation]
		valueB, inB := b.Annotations[annotation]
		if inA != inB || valueA != valueB {
			return false
		}
	}
	return true
}

// read reads the quotas of a queue. begun is the number of the latest probe begun.
func (k *knownQuotas) read(object *schedulingv1beta1.Queue, dimensions *ledger.Dimensions, begun int) {
	first := k.object == nil
	k.object, k.dimensions = object, dimensions
	if first || k.lastErr != nil {
		k.readLast(dimensions)
	}
	k.readCards(dimensions)
	k.readDevices(dimensions, begun)
	k.readKeys()
	k.devices, _ = quota.Devices(k.last.queue(), dimensions)
	if k.absence != nil || k.devicesErr != nil {
		return
	}
	k.renewLast()
}

// translate translates the last valid quotas to other dimensions. Valid quotas cause no error.
func (k *knownQuotas) translate(dimensions *ledger.Dimensions) {
	k.dimensions = dimensions
	last := k.last.queue()
	k.devices, _ = quota.Devices(last, dimensions)
	for i, annotation := range quota.CardAnnotations {
		k.cards[i], _ = quota.Cards(last, annotation, dimensions)
	}
}

// renewLast sets the last valid quotas to those of the current queue.
func (k *knownQuotas) renewLast() {
	k.last.UID, k.last.Generation = k.object.UID, k.object.Generation
	k.text = k.last.text()
}

// readLast reads the annotation with the last valid quotas, after a restart.
func (k *knownQuotas) readLast(dimensions *ledger.Dimensions) {
	last, err := readLastValid(k.object.Annotations[schedulingv1beta1.LastValidQuotaAnnotation])
	before := last.queue()
	if err == nil {
		k.devices, err = quota.Devices(before, dimensions)
	}
	if k.lastErr = err; err != nil {
		return
	}
	for i, value := range last.cards() {
		if k.cards[i], err = quota.Cards(before, quota.CardAnnotations[i], dimensions); err != nil {
			*value = nil
		}
	}
	k.last = last
}

// readCards reads the card annotations. For an invalid annotation, its last valid value still applies.
func (k *knownQuotas) readCards(dimensions *ledger.Dimensions) {
	for i, last := range k.last.cards() {
		annotation := quota.CardAnnotations[i]
		cards, err := quota.Cards(k.object, annotation, dimensions)
		if k.cardErrs[i] = err; err != nil {
			continue
		}
		k.cards[i], *last = cards, nil
		if value, exists := k.object.Annotations[annotation]; exists {
			*last = &value
		}
	}
}

func (k *knownQuotas) readDevices(dimensions *ledger.Dimensions, begun int) {
	k.devicesErr = nil
	dra := k.object.Spec.DRA
	if dra == nil {
		k.readWithout(begun)
		return
	}
	k.absence = nil
	if _, err := quota.DevicesInField(k.object, dimensions); err != nil {
		k.devicesErr = err
		return
	}
	if !limitsDevices(dra) {
		dra = nil
	}
	k.last.DRA, k.seen, k.lastErr = exact(dra), true, nil
}

// readKeys reads device quotas in the form of Volcano 1.15. If they are invalid, their last valid values apply.
func (k *knownQuotas) readKeys() {
	k.keysErr = nil
	keys := quota.KeysOf(k.object)
	switch _, err := keys.Limits(&ledger.Dimensions{}); {
	case err == nil:
		k.last.Keys = keys
	case k.last.Keys != nil:
		k.keysErr = err
	default:
		k.devicesErr = errors.Join(k.devicesErr, err)
	}
}

// readWithout reads a queue without spec.dra.
func (k *knownQuotas) readWithout(begun int) {
	_, recorded := k.object.Annotations[schedulingv1beta1.LastValidQuotaAnnotation]
	switch {
	case k.lastErr != nil:
		k.devicesErr = fmt.Errorf("its spec.dra is missing, and its annotation %s, which should say what it was, cannot be read (%w): set spec.dra again, or delete the annotation if the queue should have no quota",
			schedulingv1beta1.LastValidQuotaAnnotation, k.lastErr)
	case k.last.DRA == nil:
		k.absence = nil
	case k.absence == nil:
		k.absence = &absence{since: begun}
	case k.absence.verdict == unclear && !recorded:
		k.drop()
	}
}

// drop forgets the device quota after it was removed on purpose.
func (k *knownQuotas) drop() {
	k.absence, k.last.DRA = nil, nil
	k.devices, _ = quota.Devices(k.last.queue(), k.dimensions)
	k.renewLast()
}

// upToDate reports whether the annotation of the queue is up to date.
func (k *knownQuotas) upToDate() bool {
	return k.object.Annotations[schedulingv1beta1.LastValidQuotaAnnotation] == k.text
}
