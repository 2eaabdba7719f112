// SPDX-License-Identifier: Apache-2.0

package dra

// nobody is the owner of an unassigned device.
const nobody = -1

// assignment gives each request as many devices as it needs, if possible (Kuhn's algorithm). By Hall's theorem, this is impossible exactly
// if some requests together need more devices than suit any of them.
type assignment struct {
	// owners maps each device to its request. suits lists the suitable devices of each request.
	owners []int
	suits  [][]int
	// seen is the last search that visited each device.
	seen     []int
	searches int
	// steps counts the visits of devices.
	steps int
}

// add assigns devices to another request. It reports whether all requests so far have their devices.
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

// give assigns one more device to a request. If it takes the device from another request, it gives that request another device.
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
