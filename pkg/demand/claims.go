package demand

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
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
	// exists. It is empty when there is an error.
	Part *ledger.Part
	// Open lists the dimensions that the claim asks for in a number that is only known once
	// it is allocated.
	Open []ledger.Ordinal
	// Err says why the claim cannot be counted, naming what is wrong; nil if it can.
	Err error

	round uint64
}

// Claims remembers what claims come to, so that a claim that has not changed costs no more
// than a look. It works in rounds: within one round, whatever is asked of a claim gets the
// same answer, even if the claim changes meanwhile. It is not safe for concurrent use.
type Claims struct {
	dimensions *ledger.Dimensions
	claims     map[types.UID]*Claim
	round      uint64
}

// NewClaims returns a memory without claims.
func NewClaims(dimensions *ledger.Dimensions) *Claims {
	return &Claims{dimensions: dimensions, claims: map[types.UID]*Claim{}}
}

// Begin begins a round, and with it a new ledger: parts that no ledger carries yet may
// change now.
func (cs *Claims) Begin() {
	cs.round++
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
	if c.Object != object {
		c.Object = object
		c.Usage, c.Part.Amounts, c.Open, c.Err = dra.Usage{}, nil, nil, nil
		c.Err = cs.evaluate(c)
	}
	return c
}

func (cs *Claims) evaluate(c *Claim) error {
	usage, err := dra.Of(c.Object)
	if err != nil {
		return err
	}
	var amounts ledger.Amounts
	for _, d := range usage.Devices {
		if amounts, err = amounts.Plus(cs.count(d.Class), ledger.Units(d.Count)); err != nil {
			return fmt.Errorf("ResourceClaim %s/%s: devices of class %s: %w", c.Object.Namespace, c.Object.Name, d.Class, err)
		}
	}
	c.Usage, c.Part.Amounts = usage, amounts
	for _, class := range usage.Open {
		c.Open = append(c.Open, cs.count(class))
	}
	return nil
}

func (cs *Claims) count(class string) ledger.Ordinal {
	return cs.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
}
