// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"cmp"
	"slices"
)

// Unit is what is evicted together: a pod, or a whole gang.
type Unit struct {
	// Pods is the number of pods.
	Pods int
	// Gang names the job that no longer works without the unit. Units of the same gang hurt one gang. It is empty if
	// the unit can go without hurting the rest of its job.
	Gang string
	// Priority is that of the job. The lower goes first.
	Priority int32
	// Excess is by how much the queue of the unit is above what it deserves. The larger goes first.
	Excess float64
	// Closeness is how many ancestors the queue of the unit shares with the queue of the preemptor. The larger goes
	// first, as in upstream's VictimQueueOrder.
	Closeness int
	// Created is when the unit was created, in nanoseconds. The younger goes first.
	Created int64
	// Name breaks ties. No two units that are alike otherwise may have the same.
	Name string
}

// Cost is what it costs to evict a set of units. See [Cost.Compare].
type Cost struct {
	gangs int
	// The slices have one value per unit, that of the dearest unit first.
	priorities  []int32
	excesses    []float64
	closenesses []int
	created     []int64
	pods        int
	names       []string
}

// CostOf returns what it costs to evict a set of units, given as indexes.
func CostOf(units []Unit, set []int) Cost {
	n := len(set)
	c := Cost{
		priorities: make([]int32, 0, n), excesses: make([]float64, 0, n), closenesses: make([]int, 0, n),
		created: make([]int64, 0, n), names: make([]string, 0, n),
	}
	var gangs []string
	for _, i := range set {
		u := &units[i]
		if u.Gang != "" && !slices.Contains(gangs, u.Gang) {
			gangs = append(gangs, u.Gang)
		}
		c.priorities = append(c.priorities, u.Priority)
		c.excesses = append(c.excesses, u.Excess)
		c.closenesses = append(c.closenesses, u.Closeness)
		c.created = append(c.created, u.Created)
		c.pods += u.Pods
		c.names = append(c.names, u.Name)
	}
	c.gangs = len(gangs)
	slices.SortFunc(c.priorities, descending)
	slices.Sort(c.excesses)
	slices.Sort(c.closenesses)
	slices.Sort(c.created)
	slices.SortFunc(c.names, descending)
	return c
}

func descending[T cmp.Ordered](l, r T) int { return cmp.Compare(r, l) }

// Compare is negative if c is cheaper than d. The first of these that differs decides:
//
//  1. Fewer gangs are hurt.
//  2. The priorities are lower. The highest of each set are compared first, then the next highest. If one set has
//     no more, it is cheaper.
//  3. The queues are further above what they deserve. The lowest excess of each set is compared first, then the
//     next lowest. From here on, both sets have the same number of units.
//  4. The queues are closer, compared in the same way.
//  5. The units are younger: the oldest of each set are compared first.
//  6. Fewer pods go.
//  7. The names come earlier in the alphabet: the last of each set are compared first.
//
// The order is total if no two units are alike. A set is dearer than each of its subsets. A unit that is added to two
// sets of equally many gangs, without hurting another gang, does not change their order.
func (c Cost) Compare(d Cost) int {
	return cmp.Or(
		cmp.Compare(c.gangs, d.gangs),
		slices.Compare(c.priorities, d.priorities),
		slices.Compare(d.excesses, c.excesses),
		slices.Compare(d.closenesses, c.closenesses),
		slices.Compare(d.created, c.created),
		cmp.Compare(c.pods, d.pods),
		slices.Compare(c.names, d.names),
	)
}

// Compare compares the costs of two sets of units, given as indexes. It is negative if a is cheaper.
func Compare(units []Unit, a, b []int) int {
	return CostOf(units, a).Compare(CostOf(units, b))
}

// CompareUnits compares two units as sets of one unit. It is negative if a is cheaper.
func CompareUnits(a, b *Unit) int {
	return cmp.Or(cmp.Compare(gangsOf(a), gangsOf(b)), compareWithoutGang(a, b))
}

func gangsOf(u *Unit) int {
	if u.Gang == "" {
		return 0
	}
	return 1
}

// compareWithoutGang is the order in which units make a set dearer, of those that hurt equally many more gangs.
func compareWithoutGang(a, b *Unit) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(b.Excess, a.Excess),
		cmp.Compare(b.Closeness, a.Closeness),
		cmp.Compare(b.Created, a.Created),
		cmp.Compare(a.Pods, b.Pods),
		cmp.Compare(a.Name, b.Name),
	)
}
