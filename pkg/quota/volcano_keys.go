// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Volcano 1.15 lists device limits among the resources of a queue. The key deviceclass/<class> is a number of devices,
// and <capacity>.deviceclass/<class> is an amount of a capacity.
const (
	countPrefix       = "deviceclass/"
	capacitySeparator = ".deviceclass/"
)

// DeviceKeys holds device limits in the form of Volcano 1.15.
type DeviceKeys struct {
	Capability corev1.ResourceList `json:"capability,omitempty"`
	Deserved   corev1.ResourceList `json:"deserved,omitempty"`
	Guarantee  corev1.ResourceList `json:"guarantee,omitempty"`
}

// KeysOf returns the limits of a queue in the form of Volcano 1.15, valid or not, as exact quantities. It is nil if there are none.
func KeysOf(queue *schedulingv1beta1.Queue) *DeviceKeys {
	spec := &queue.Spec
	keys := DeviceKeys{onlyDevices(spec.Capability), onlyDevices(spec.Deserved), onlyDevices(spec.Guarantee.Resource)}
	if len(keys.Capability)+len(keys.Deserved)+len(keys.Guarantee) == 0 {
		return nil
	}
	return &keys
}

func isDeviceKey(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), countPrefix) || strings.Contains(string(name), capacitySeparator)
}

func onlyDevices(list corev1.ResourceList) corev1.ResourceList {
	var devices corev1.ResourceList
	for name, quantity := range list {
		if isDeviceKey(name) {
			if devices == nil {
				devices = corev1.ResourceList{}
			}
			devices[name] = Exact(quantity)
		}
	}
	return devices
}

// Resources returns a resource list of a queue without device limits in the form of Volcano 1.15. It returns the list
// itself if it contains none.
func Resources(list corev1.ResourceList) corev1.ResourceList {
	for name := range list {
		if isDeviceKey(name) {
			rest := maps.Clone(list)
			maps.DeleteFunc(rest, func(name corev1.ResourceName, _ resource.Quantity) bool { return isDeviceKey(name) })
			return rest
		}
	}
	return list
}

// Limits returns the limits in the keys. The error names the first invalid key.
func (k *DeviceKeys) Limits(dimensions *ledger.Dimensions) (Limits, error) {
	var limits Limits
	if k == nil {
		return limits, nil
	}
	for _, field := range []struct {
		name string
		list corev1.ResourceList
		into *ledger.Amounts
	}{
		{"capability", k.Capability, &limits.Capability}, {"deserved", k.Deserved, &limits.Deserved}, {"guarantee.resource", k.Guarantee, &limits.Guarantee},
	} {
		for _, name := range slices.Sorted(maps.Keys(field.list)) {
			entry, err := keyed(string(name), field.list[name], dimensions)
			if err != nil {
				return Limits{}, fmt.Errorf("its spec.%s[%s] %w", field.name, name, err)
			}
			*field.into = append(*field.into, entry)
		}
		slices.SortFunc(*field.into, byDimension)
	}
	return limits, nil
}

// keyed returns the limit of a key. Its errors continue the sentence after the key.
func keyed(key string, quantity resource.Quantity, dimensions *ledger.Dimensions) (ledger.Entry, error) {
	d, err := dimensionOf(key)
	if err != nil {
		return ledger.Entry{}, err
	}
	amount, err := amountOf(quantity)
	switch whole := quantity.Value(); {
	case d.Kind == ledger.DeviceCount && (whole < 0 || quantity.CmpInt64(whole) != 0):
		return ledger.Entry{}, fmt.Errorf("is %s: set it to a whole number of devices, zero or more", text(quantity))
	case err != nil || amount.Sign() < 0:
		return ledger.Entry{}, fmt.Errorf("is %s: set it to zero or more, and to less than 1e29", text(quantity))
	}
	if d.Kind == ledger.DeviceCapacity {
		dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: d.Name}) // listed devices count, too
	}
	return ledger.Entry{Dimension: dimensions.Ordinal(d), Amount: amount}, nil
}

var (
	errNoClass    = errors.New("names no DeviceClass: write deviceclass/<class> or <capacity>.deviceclass/<class>, or remove it")
	errNoCapacity = errors.New("names no capacity: write <capacity>.deviceclass/<class>, such as memory.deviceclass/<class>, or remove it")
)

func dimensionOf(key string) (ledger.Dimension, error) {
	capacity, class, ofCapacity := strings.Cut(key, capacitySeparator)
	if !ofCapacity {
		class = strings.TrimPrefix(key, countPrefix)
	}
	switch {
	case class == "" || strings.Contains(class, "/"):
		return ledger.Dimension{}, errNoClass
	case !ofCapacity:
		return ledger.Dimension{Kind: ledger.DeviceCount, Name: class}, nil
	case capacity == "" || strings.HasPrefix(capacity, "/") || strings.HasSuffix(capacity, "/") || strings.Count(capacity, "/") > 1:
		return ledger.Dimension{}, errNoCapacity
	default:
		return ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: capacity}, nil
	}
}

// lower merges two lists. If both limit a dimension, the smaller limit holds.
func lower(a, b ledger.Amounts) ledger.Amounts {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	both := slices.Clone(a)
	for _, e := range b {
		i, listed := slices.BinarySearchFunc(a, e, byDimension)
		switch {
		case !listed:
			both = append(both, e)
		case e.Amount.Cmp(a[i].Amount) < 0:
			both[i] = e
		}
	}
	slices.SortFunc(both, byDimension)
	return both
}
