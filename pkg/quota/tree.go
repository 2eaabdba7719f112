// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Root is the queue above all others. Volcano creates it.
const Root = "root"

// Parent returns the parent of a queue with the given spec.parent, which may be empty. It is empty for root.
func Parent(queue, parent string) string {
	if queue == Root {
		return ""
	}
	return cmp.Or(parent, Root)
}

// Arrange arranges queues as a tree, or as a forest of queues without parents. If root was deleted, top replaces it, and all other
// queues stay its descendants. misplaced says why queues have no place in the tree. It is nil if all queues have a place.
func Arrange(specs []ledger.QueueSpec, hierarchy bool, top ledger.QueueSpec) (arranged []ledger.QueueSpec, misplaced map[string]string) {
	if !slices.ContainsFunc(specs, func(s ledger.QueueSpec) bool { return s.Name == Root }) {
		top.Name = Root
		specs = append(specs, top)
	}
	for _, queue := range ledger.Misplaced(specs) {
		if misplaced == nil {
			misplaced = map[string]string{}
		}
		misplaced[queue.Queue] = queue.Reason
	}
	if !hierarchy {
		for i := range specs {
			specs[i].Parent = ""
		}
	}
	return specs, misplaced
}
