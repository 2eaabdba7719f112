// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// ProtectedByGangs refuses a pod whose queue deserves the request, if gangs that cannot lose a pod hold it.
type ProtectedByGangs struct {
	Refusal
	// Pods is the number of gang pods that hold what the queue deserves.
	Pods int
}

// Message implements Refusal.
func (p ProtectedByGangs) Message() string {
	return fmt.Sprintf("%s The queue deserves them, but <%d> pods that have them belong to gangs that need all their pods: the argument reclaimGangs of the plugin allows to evict whole gangs.",
		p.Refusal.Message(), p.Pods)
}
