// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxRemote bounds how many units elsewhere are candidates because they free quota.
const maxRemote = 64

// maxShort is for how many things that are short rights are remembered. The pods of a job mostly lack the same.
const maxShort = 16

// rights remembers which units an asker may evict, each by itself, as of a version of the plan. Neither the node nor the pod matters, but what
// the pod lacks, so that the pods of a job share answers on all nodes.
type rights struct {
	version int
	all     []*rightsTo
}

// rightsTo has which units may be evicted for something that is short.
type rightsTo struct {
	short ledger.Amounts
	known map[int]bool
	// remote has the units that may be evicted, the cheapest first, as far as they were looked for: next is the place of the next one in the order
	// of all units.
	remote []int
	next   int
}

// rightsTo returns what is known of the rights to what is short.
func (a *asker) rightsTo(short ledger.Amounts) *rightsTo {
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

// includes reports whether a unit may be evicted. If there is no effort left, it may not.
func (r *rightsTo) includes(i int, q *question) bool {
	may, known := r.known[i]
	if !known && q.effort > 0 {
		u := &q.all[i]
		may = !u.evicted && !u.vetoes(q) && q.rule.justified(q.asker, q.without([]int{i}), u, r.short)
		r.known[i] = may
	}
	return may
}

// another looks for the next unit elsewhere, and reports whether there is one.
func (r *rightsTo) another(q *question) bool {
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

// justified returns the units among these that the asker may evict, each by itself, for something of what is short.
func (q *question) justified(among []int, short ledger.Amounts) []int {
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
func (q *question) withRemote(local []int) []int {
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
