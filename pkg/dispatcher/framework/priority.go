// SPDX-License-Identifier: Apache-2.0

package framework

// highestForUsers is the highest value of a PriorityClass that Kubernetes does not reserve for its own classes.
const highestForUsers = 1_000_000_000

// Priorities returns a function for the PriorityClass value of a workload. The default of the control plane, or zero, applies if the
// workload names no class or a class that does not exist. It also applies to Kubernetes' own classes: all users could name these to
// come first. If several classes are the default, the lowest one holds, as in Kubernetes.
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
