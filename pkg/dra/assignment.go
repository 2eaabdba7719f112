// SPDX-License-Identifier: Apache-2.0

package dra

// nobody owns a device that is left.
const nobody = -1

// assignment gives each request devices of its own, as many as it needs, if there is a way to do so (Kuhn's algorithm). By Hall's theorem,
// there is none exactly if some requests together need more devices than suit any of them.
type assignment struct {
	// owners has the request that has each device, and suits the devices that suit each request.
	owners []int
	suits  [][]int
	// seen has the last search in which each device was looked at.
	seen     []int
	searches int
	// steps is how often a device was looked at.
	steps int
}

// add gives one more request devices. It reports whether all requests so far have theirs.
func (a *assignment) add(suits []int, count int64) bool {
	if int64(len(suits)) < count {
		return false
	}
	if a.seen == nil {
		a.seen = make([]int, len(a.owners))
	}
	request := len(a.suits)
	a.suits = append(a.suits, suits)
	for range count {
		a.searches++
		if !a.give(request) {
			return false
		}
	}
	return true
}

// give gives a request one more device, and the request that had it another one.
func (a *assignment) give(request int) bool {
	for _, device := range a.suits[request] {
		a.steps++
		if a.seen[device] == a.searches {
			continue
		}
		a.seen[device] = a.searches
		if owner := a.owners[device]; owner == nobody || a.give(owner) {
			a.owners[device] = request
			return true
		}
	}
	return false
}
