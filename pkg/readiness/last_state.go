// SPDX-License-Identifier: Apache-2.0

package readiness

import "k8s.io/client-go/tools/cache"

// LastState returns the last state of an object that an informer reports as deleted. An informer that has missed the deletion
// wraps the object.
func LastState(object any) any {
	if missed, is := object.(cache.DeletedFinalStateUnknown); is {
		return missed.Obj
	}
	return object
}
