// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// Reasons of events on queues.
const (
	// ClassesOverlapReason says that devices of a limited class belong to other classes, too. With matching, that is no problem.
	ClassesOverlapReason = "ClassesOverlap"
	// InvalidDeviceClassReason says that the scheduler cannot evaluate the selectors of a limited class.
	InvalidDeviceClassReason = "InvalidDeviceClass"
)

// Overlap is a class that a queue limits, and other classes that share devices with it.
type Overlap struct {
	Class  string
	Others []string
}

// String returns a sentence about the classes.
func (o Overlap) String() string {
	return fmt.Sprintf("devices of class %s belong to %s, too", o.Class, refusals.List(o.Others))
}

// ClassesOverlap adds that devices of classes that a queue limits belong to other classes, too. With matching, a device counts for each
// limited class that it matches. Without matching, the overlap is a problem.
func (ps Problems) ClassesOverlap(queue string, overlaps []string, matching bool) {
	if more := len(overlaps) - refusals.MaxListed; more > 0 {
		overlaps = append(overlaps[:refusals.MaxListed:refusals.MaxListed], fmt.Sprintf("and so on for %d more classes", more))
	}
	what := "The queue limits classes whose devices other classes have as well: " + strings.Join(overlaps, "; ")
	if matching {
		ps[Problem{queue, ClassesOverlapReason, true}] = what + ". A device counts for each class that it matches and that some queue limits"
		return
	}
	ps[Problem{queue, ClassesOverlapReason, false}] = what +
		". A device counts only for the class that a claim asks for, so that claims can get round the limit through another class: set the argument deviceAccounting to matching, or limit the other classes, too"
}

// InvalidDeviceClass adds that a queue limits a class with selectors that cannot be evaluated.
func (ps Problems) InvalidDeviceClass(queue, class string, err error) {
	ps.add(queue, InvalidDeviceClassReason, fmt.Sprintf(
		"The queue limits class %s, but the scheduler cannot evaluate the selectors of the class, so that no device matches it: correct the DeviceClass: %v", class, err))
}
