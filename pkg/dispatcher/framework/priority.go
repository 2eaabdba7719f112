// SPDX-License-Identifier: Apache-2.0

package framework

// highestForUsers is the highest value that Kubernetes lets a PriorityClass have that is not one of its own. These are always there.
const highestForUsers = 1_000_000_000

// Priorities returns the value of the PriorityClass of a workload. Without a class, if the class does not exist, or if it is one of
// Kubernetes' own, which all users may name to come before all others, it is the default of the control plane, zero if there is
// none. If several classes are the default, the lowest one holds, as in Kubernetes.
func (s *Snapshot) Priorities() func(*Workload) int32 {
	var byDefault *int32
	for _, class := range s.PriorityClasses {
		if class.GlobalDefault && (byDefault == nil || class.Value < *byDefault) {
			byDefault = &class.Value
		}
	}
	return func(w *Workload) int32 {
		if w.Template != nil && w.Template.PriorityClass != "" {
			if class := s.PriorityClasses[w.Template.PriorityClass]; class != nil && class.Value <= highestForUsers {
				return class.Value
			}
		}
		if byDefault != nil {
			return *byDefault
		}
		return 0
	}
}
