package demand

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Claim is what a ResourceClaim comes to.
type Claim struct {
	// Object is the claim as it was last looked at. It is not to be changed.
	Object *resourceapi.ResourceClaim
	// Usage is what the claim asks for or holds.
	Usage dra.Usage
	// Part is the same as a part of a demand. It stays the same one as long as the claim
	// exists. It is empty when there is an error. Before the claim is allocated it is the least
	// that can come out if Open says so.
	Part *ledger.Part
	// Choices has a part for each choice among alternatives. They are for checks only, because
	// what is charged must have been chosen.
	Choices []*ledger.Part
	// Open says that what will be held hangs on the devices that are picked.
	Open bool
	// Err says why the claim cannot be counted, naming what is wrong; nil if it can.
	Err error

	round uint64
	// least is what Part has while nothing has been picked.
	least   ledger.Amounts
	choices []*ledger.Part
	// edition, listing and seen are what the rest was worked out from besides Object; what is
	// published of devices matters only to claims whose capacity is limited.
	edition int
	listing int
	seen    *dra.Catalog
	limited bool
}

// Claims remembers what claims come to, so that a claim that has not changed costs no more
// than a look. It works in rounds: within one round, whatever is asked of a claim gets the
// same answer, even if the claim changes meanwhile. It is not safe for concurrent use.
type Claims struct {
	counter
	claims map[types.UID]*Claim
	round  uint64
	// edition counts changes of the card models of classes.
	edition int
}

// NewClaims returns a memory without claims.
func NewClaims(dimensions *ledger.Dimensions) *Claims {
	return &Claims{counter: counter{dimensions: dimensions}, claims: map[types.UID]*Claim{}}
}

// Begin begins a round, and with it a new ledger: parts that no ledger carries yet may
// change now. The limits of the round's queues must have been read before. Catalog is what is
// published of devices; nil while nothing is known.
func (cs *Claims) Begin(catalog *dra.Catalog) {
	if cs.round++; cs.catalog != catalog && !catalog.SameCards(cs.catalog) {
		cs.edition++
	}
	cs.catalog = catalog
}

// Forget drops all claims that nobody has asked for in this round.
func (cs *Claims) Forget() {
	for uid, c := range cs.claims {
		if c.round != cs.round {
			delete(cs.claims, uid)
		}
	}
}

// All calls yield for every claim that is remembered, those included that nobody has asked
// for in this round yet.
func (cs *Claims) All(yield func(*Claim) bool) {
	for _, c := range cs.claims {
		if !yield(c) {
			return
		}
	}
}

// Of returns what a claim comes to.
func (cs *Claims) Of(object *resourceapi.ResourceClaim) *Claim {
	c := cs.claims[object.UID]
	if c == nil {
		c = &Claim{Part: &ledger.Part{}}
		cs.claims[object.UID] = c
	}
	if c.round == cs.round {
		return c
	}
	c.round = cs.round
	if c.Object != object || c.edition != cs.edition || c.listing != cs.dimensions.CapacityCount() || c.limited && c.seen != cs.catalog {
		cs.evaluate(c, object)
	}
	c.Part.Amounts, c.Choices = c.least, c.choices
	return c
}

func (cs *Claims) evaluate(c *Claim, object *resourceapi.ResourceClaim) {
	usage, err := usageOf(object, cs.catalog)
	if err == nil && len(usage.Gone) > 0 && sameAllocation(c.Object, object) {
		usage = c.Usage // what was known of the devices while they were published
	}
	c.Object, c.seen, c.edition, c.listing = object, cs.catalog, cs.edition, cs.dimensions.CapacityCount()
	c.limited = cs.limits(&usage)
	c.Usage, c.least, c.choices, c.Open, c.Err = dra.Usage{}, nil, nil, false, nil
	if err == nil {
		var alternatives [][]ledger.Amounts
		c.least, alternatives, c.Open, err = cs.count(usage)
		c.Open = c.Open && object.Status.Allocation == nil
		for _, a := range alternatives {
			c.choices = append(c.choices, &ledger.Part{Alternatives: a})
		}
	}
	if err != nil {
		c.Err = fmt.Errorf("ResourceClaim %s/%s: %w", object.Namespace, object.Name, err)
		return
	}
	c.Usage = usage
}

func usageOf(object *resourceapi.ResourceClaim, catalog *dra.Catalog) (dra.Usage, error) {
	if object.Status.Allocation != nil {
		return dra.Allocated(&object.Spec, object.Status.Allocation, catalog)
	}
	return dra.Requested(&object.Spec)
}

// sameAllocation reports whether two states of a claim have the same devices: an allocation
// never changes, it only comes and goes.
func sameAllocation(before, after *resourceapi.ResourceClaim) bool {
	return before != nil && before.Status.Allocation != nil && after.Status.Allocation != nil
}

// Picked returns what an allocation that has been picked for the claim would hold, and the
// capacity dimensions with a limit somewhere that one of its devices does not have.
func (cs *Claims) Picked(c *Claim, allocation *resourceapi.AllocationResult) (ledger.Amounts, []ledger.Ordinal, error) {
	usage, err := dra.Allocated(&c.Object.Spec, allocation, cs.catalog)
	if err != nil {
		return nil, nil, err
	}
	var lacking []ledger.Ordinal
	for _, d := range usage.Devices {
		for _, o := range cs.dimensions.Capacities(d.Class) {
			name := resourceapi.QualifiedName(cs.dimensions.Dimension(o).Capacity)
			if _, has := d.Capacity[name]; !has {
				lacking = append(lacking, o)
			}
		}
	}
	amounts, _, _, err := cs.count(usage)
	return amounts, lacking, err
}

// Settle makes the claim come to what has been picked for it, in a ledger.
func (c *Claim) Settle(books *ledger.Ledger, amounts ledger.Amounts) error {
	if err := books.Amend(c.Part, amounts); err != nil {
		return err
	}
	c.Choices = nil
	return nil
}

// Unsettle takes Settle back.
func (c *Claim) Unsettle(books *ledger.Ledger) error {
	if err := books.Amend(c.Part, c.least); err != nil {
		return err
	}
	c.Choices = c.choices
	return nil
}

// counter turns usages into amounts.
type counter struct {
	dimensions *ledger.Dimensions
	catalog    *dra.Catalog
}

// count returns what a usage comes to at least, the alternatives that come on top, and whether
// more may come out once devices are picked.
func (cr *counter) count(usage dra.Usage) (ledger.Amounts, [][]ledger.Amounts, bool, error) {
	var least ledger.Amounts
	open := usage.Least || len(usage.Choices) > 0 || cr.limits(&usage)
	for _, d := range usage.Devices {
		var err error
		if least, err = cr.plus(least, d); err != nil {
			return nil, nil, false, err
		}
	}
	choices := make([][]ledger.Amounts, len(usage.Choices))
	for i, alternatives := range usage.Choices {
		for _, d := range alternatives {
			amounts, err := cr.plus(nil, d)
			if err != nil {
				return nil, nil, false, err
			}
			choices[i] = append(choices[i], amounts)
		}
	}
	return least, choices, open, nil
}

// limits reports whether any queue limits a capacity of a class that occurs.
func (cr *counter) limits(usage *dra.Usage) bool {
	for class := range usage.Classes {
		if len(cr.dimensions.Capacities(class)) > 0 {
			return true
		}
	}
	return false
}

// plus adds devices: their number, that of the card model that their class names, and those
// capacity dimensions of the class that some queue limits.
func (cr *counter) plus(amounts ledger.Amounts, d dra.Devices) (ledger.Amounts, error) {
	amounts, err := amounts.Plus(cr.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: d.Class}), ledger.Units(d.Count))
	if card := cr.catalog.Card(d.Class); card != "" && err == nil {
		amounts, err = amounts.Plus(cr.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: card}), ledger.Units(d.Count))
	}
	for name, quantity := range d.Capacity {
		o, listed := cr.dimensions.Known(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: d.Class, Capacity: string(name)})
		if !listed || err != nil {
			continue
		}
		var each ledger.Amount
		if each, err = amountOf(quantity); err == nil {
			each, err = each.Times(d.Count)
		}
		if err == nil {
			amounts, err = amounts.Plus(o, each)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("devices of class %s: %w", d.Class, err)
	}
	return amounts, nil
}

func amountOf(quantity resource.Quantity) (ledger.Amount, error) {
	decimal := quantity.AsDec()
	return ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
}
