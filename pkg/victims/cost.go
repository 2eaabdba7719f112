// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"cmp"
	"slices"
)

// Unit is a pod or a gang that is evicted as a whole.
type Unit struct {
	// Pods is the number of pods.
	Pods int
	// Gang names the job that no longer works without the unit. Evicting several units of a gang hurts one gang. It is
	// empty if the rest of the job works without the unit.
	Gang string
	// Priority is the priority of the job. Lower priorities go first.
	Priority int32
	// Excess says how far the queue of the unit exceeds its deserved amounts. Larger values go first.
	Excess float64
	// Closeness is the number of ancestors that the unit's queue shares with the preemptor's queue. Larger values go
	// first, as in upstream's VictimQueueOrder.
	Closeness int
	// Created is the creation time of the unit, in nanoseconds. Younger units go first.
	Created int64
	// Name breaks ties. Units that are otherwise equal must have different names.
	Name string
}

// Cost is the cost of evicting a set of units. See [Cost.Compare].
type Cost struct {
	gangs int
	// Each slice has one value per unit, most expensive first.
	priorities  []int32
	excesses    []float64
	closenesses []int
	created     []int64
	pods        int
	names       []string
}

// CostOf returns the cost of evicting a set of units, given as indexes.
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

// Compare returns a negative number if c is cheaper than d. The first difference in this list decides:
//
//  1. Fewer gangs are hurt.
//  2. The priorities are lower. The highest priorities are compared first, then the next highest. If one set has no
//     further priority, it is cheaper.
//  3. The queues exceed their deserved amounts further. The lowest excesses are compared first, then the next lowest.
//     From here on, both sets have the same number of units.
//  4. The queues are closer. The lowest values are compared first.
//  5. The units are younger. The oldest units are compared first.
//  6. Fewer pods are evicted.
//  7. The names come earlier in the alphabet. The last names are compared first.
//
// The order is total if no two units are equal. A set is more expensive than each of its proper subsets. Adding a unit
// to two sets that hurt equally many gangs does not change their order, unless the unit hurts another gang.
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

// CompareUnits compares two units as sets of one unit. The result is negative if a is cheaper.
func CompareUnits(a, b *Unit) int {
	return cmp.Or(cmp.Compare(gangsOf(a), gangsOf(b)), compareWithoutGang(a, b))
}

func gangsOf(u *Unit) int {
	if u.Gang == "" {
		return 0
	}
	return 1
}

// compareWithoutGang orders units that hurt equally many additional gangs by the cost that they add to a set.
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
