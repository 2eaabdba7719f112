// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// reclassify asks again which DeviceClass offers each resource (KEP-5004), and reports whether any
// answer has changed.
func (r *Resources) reclassify(classOf func(corev1.ResourceName) string) bool {
	r.classOf = classOf
	changed := false
	for _, known := range r.all {
		class := classOf(known.name)
		changed = changed || class != known.class
		known.class = class
	}
	return changed
}

// devices is the dimension that counts the devices of a class.
func (r *Resources) devices(class string) ledger.Ordinal {
	return r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
}

// Extended names an extended resource that a DeviceClass offers.
type Extended struct {
	Resource corev1.ResourceName
	Class    string
}

// addExtended adds the devices that the containers of a pod request as extended resources. KEP-5004
// gives every container devices of its own, init containers included. It returns one of the resources,
// the zero value if there is none.
func (r *Resources) addExtended(pod *corev1.Pod, amounts ledger.Amounts) (ledger.Amounts, Extended, error) {
	var last Extended
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name, quantity := range containers[i].Resources.Requests {
				known := r.asked(name)
				if known == nil || known.class == "" || quantity.Sign() <= 0 {
					continue
				}
				var err error
				if amounts, err = amounts.Plus(r.devices(known.class), ledger.Units(quantity.Value())); err != nil {
					return nil, last, fmt.Errorf("%s: %w", name, err)
				}
				if name > last.Resource {
					last = Extended{Resource: name, Class: known.class}
				}
			}
		}
	}
	return amounts, last, nil
}
