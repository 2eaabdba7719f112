// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"maps"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxObjects bounds the remembered objects. One workload of a megabyte may name thousands.
const maxObjects = 20_000

// claimObject is what is remembered of a claim or claim template, because many workloads may name it. The claim and the template are never
// changed in place: a change is another object.
type claimObject struct {
	note string
	// counted is the generation for which the remaining fields are valid.
	counted uint64
	amounts ledger.Amounts
	// unnamed are the limited capacities for which the devices state no amount.
	unnamed []ledger.Ordinal
	err     error
}

// mostOf returns the maximum of a claim, or of a claim from a template.
func (w *counting) mostOf(kind string, object metav1.Object, spec *resourceapi.ResourceClaimSpec) (ledger.Amounts, error) {
	known := w.known(object)
	if known.counted != w.generation {
		of := &counting{Counter: w.Counter}
		known.amounts, known.err = of.mostOfClaim(fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName()), object.GetAnnotations(), spec)
		known.unnamed, known.counted = of.unnamed, w.generation
	}
	for _, o := range known.unnamed {
		w.addUnnamed(o)
	}
	return known.amounts, known.err
}

// noteOf returns the note of a claim or claim template for grants.
func (c *Counter) noteOf(object metav1.Object) string {
	known := c.known(object)
	if known.note == "" {
		known.note = binding.ClaimNote(object)
	}
	return known.note
}

func (c *Counter) known(object metav1.Object) *claimObject {
	known := c.objects[object]
	if known == nil {
		if len(c.objects) >= maxObjects {
			clear(c.objects)
		}
		known = &claimObject{}
		c.objects[object] = known
	}
	return known
}

// forgetGone forgets objects that have changed or are gone. Each may hold a megabyte.
func (c *Counter) forgetGone() {
	maps.DeleteFunc(c.objects, func(object metav1.Object, _ *claimObject) bool {
		switch o := object.(type) {
		case *resourceapi.ResourceClaim:
			now, _ := c.reader.Claim(o.Namespace, o.Name)
			return now != o
		case *resourceapi.ResourceClaimTemplate:
			now, _ := c.reader.ClaimTemplate(o.Namespace, o.Name)
			return now != o
		}
		return true
	})
}
