// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// ProtectedByGangs refuses a pod whose queue deserves what the pod asks for, while gangs have it that cannot lose a pod.
type ProtectedByGangs struct {
	Refusal
	// Pods is how many pods of such gangs have what the queue deserves.
	Pods int
}

// Message implements Refusal.
func (p ProtectedByGangs) Message() string {
	return fmt.Sprintf("%s The queue deserves them, but <%d> pods that have them belong to gangs that need all their pods: the argument reclaimGangs of the plugin allows to evict whole gangs.",
		p.Refusal.Message(), p.Pods)
}
