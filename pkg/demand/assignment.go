// SPDX-License-Identifier: Apache-2.0

package demand

import (
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Picked returns the amounts of an allocation picked for the claim. It also returns the capacity dimensions that some
// queue limits and a picked device lacks.
func (cs *Claims) Picked(c *Claim, allocation *resourceapi.AllocationResult) (ledger.Amounts, []ledger.Ordinal, error) {
	picked := resourceapi.ResourceClaim{Spec: c.Object.Spec, Status: resourceapi.ResourceClaimStatus{Allocation: allocation}}
	usage, err := dra.Allocated(&picked.Spec, allocation, cs.catalog)
	if err != nil {
		return nil, nil, err
	}
	if c.extended != nil {
		usage.SetExtended(&picked, c.extended)
	}
	var lacking []ledger.Ordinal
	for i := range usage.Devices {
		d := &usage.Devices[i]
		for _, class := range append(cs.matching.others(d), d.Class) {
			lacking = append(lacking, cs.lacking(d, class)...)
		}
	}
	amounts, _, _, err := cs.count(usage)
	return amounts, lacking, err
}

// lacking returns the limited capacity dimensions of a class that a device lacks.
func (cs *Claims) lacking(d *dra.Devices, class string) []ledger.Ordinal {
	var lacking []ledger.Ordinal
	for _, o := range cs.dimensions.Capacities(class) {
		if d.LacksCapacity(cs.dimensions.Dimension(o).Capacity, cs.catalog) {
			lacking = append(lacking, o)
		}
	}
	return lacking
}

// Assign sets the demand of the claim to the picked amounts. A charge in the ledger changes with it.
func (c *Claim) Assign(books *ledger.Ledger, amounts ledger.Amounts) error {
	if err := books.Amend(c.Part, amounts); err != nil {
		return err
	}
	c.Choices, c.assigned = nil, true
	return nil
}

// Unassign undoes Assign.
func (c *Claim) Unassign(books *ledger.Ledger) error {
	if err := books.Amend(c.Part, c.least); err != nil {
		return err
	}
	c.Choices, c.assigned = c.choices, false
	return nil
}
