// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxRemote is the maximum number of candidate units elsewhere that free quota.
const maxRemote = 64

// maxShort is the maximum number of shortages whose rights are remembered. The pods of a job mostly lack the same.
const maxShort = 16

// rights remembers which units a preemptor may evict, each on its own, for one version of the plan. The answer depends only on what the pod
// lacks, so the pods of a job share answers on all nodes.
type rights struct {
	version int
	all     []*rightsTo
}

// rightsTo has the units that may be evicted for one shortage.
type rightsTo struct {
	short ledger.Amounts
	known map[int]bool
	// remote has the units found so far that may be evicted, cheapest first. next is the next position to search in the order of all units.
	remote []int
	next   int
}

// rightsTo returns the known rights for a shortage.
func (a *preemptor) rightsTo(short ledger.Amounts) *rightsTo {
	if a.rights.version != a.version {
		a.rights = rights{version: a.version}
	}
	for _, r := range a.rights.all {
		if slices.Equal(r.short, short) {
			return r
		}
	}
	if len(a.rights.all) >= maxShort {
		a.rights.all = nil
	}
	r := &rightsTo{short: short, known: map[int]bool{}}
	a.rights.all = append(a.rights.all, r)
	return r
}

// includes reports whether a unit may be evicted. It returns false for unknown units if no effort is left.
func (r *rightsTo) includes(i int, q *attempt) bool {
	may, known := r.known[i]
	if !known && q.effort > 0 {
		u := &q.all[i]
		may = !u.evicted && !u.vetoes(q) && q.rule.justified(q.preemptor, q.without([]int{i}), u, r.short)
		r.known[i] = may
	}
	return may
}

// another finds the next unit elsewhere. It reports whether there is one.
func (r *rightsTo) another(q *attempt) bool {
	for all := q.sorted(); r.next < len(all) && q.effort > 0; {
		i := all[r.next]
		r.next++
		if r.includes(i, q) {
			r.remote = append(r.remote, i)
			return true
		}
	}
	return false
}

// justified returns the units that the preemptor may evict, each on its own, for part of the shortage.
func (q *attempt) justified(among []int, short ledger.Amounts) []int {
	var found []int
	rights := q.rightsTo(short)
	for _, i := range among {
		if rights.includes(i, q) {
			found = append(found, i)
		}
	}
	return found
}

// withRemote adds the cheapest units elsewhere that free quota.
func (q *attempt) withRemote(local []int) []int {
	known := map[int]bool{}
	for _, i := range local {
		known[i] = true
	}
	candidates := append([]int(nil), local...)
	rights := q.rightsTo(q.quotaShort)
	for k := 0; len(candidates)-len(local) < maxRemote && (k < len(rights.remote) || rights.another(q)); k++ {
		if i := rights.remote[k]; !known[i] {
			candidates = append(candidates, i)
		}
	}
	return candidates
}
