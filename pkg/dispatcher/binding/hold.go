// SPDX-License-Identifier: Apache-2.0

package binding

// Reason is why the dispatcher holds a binding.
type Reason string

const (
	// Waiting means that nothing has been granted yet. No cluster may be chosen.
	Waiting Reason = "Waiting"
	// Growing means that the workload has grown beyond its grant. What runs goes on, and member clusters do not see the
	// growth.
	Growing Reason = "Growing"
	// Returning means that the grant is being taken back: the clusters have been cleared, and the grant ends when the
	// last Work is gone. Then the binding waits again.
	Returning Reason = "Returning"
)

// Hold is a suspension by the dispatcher. It always includes spec.suspension.scheduling.
type Hold struct {
	Reason Reason `json:"reason"`
	// Queue is the queue that the workload named when it was held, empty if it named none. It counts only for kinds of
	// workloads that the dispatcher cannot read, and for what would not be managed any more as it is now.
	Queue string `json:"queue,omitempty"`
	// Dispatching says that the dispatcher has set spec.suspension.dispatching as well. It is false if a policy had set
	// it already.
	Dispatching bool `json:"dispatching,omitempty"`
	// Ends says that pods of the workload may still end, so that the change waits for them whether there is room or not.
	Ends bool `json:"ends,omitempty"`
	// Ended says that a workload whose grant is taken back had ended everywhere, so that its queue is not charged while it leaves its clusters.
	Ended bool `json:"ended,omitempty"`
	// PlacementOnly says that only the placement waits: clusters see the workload, which needs no more in each of them.
	PlacementOnly bool `json:"placementOnly,omitempty"`
	// Unnoted says that clusters may have pods that name a claim or claim template that the grant does not note.
	Unnoted bool `json:"unnoted,omitempty"`
	// Tasks identifies the tasks that clusters may have of a Volcano Job that has got further ones since it is held. It is empty otherwise.
	Tasks string `json:"tasks,omitempty"`
	// KeepScheduling says that somebody else had suspended scheduling already, so that it stays suspended when the hold ends.
	KeepScheduling bool `json:"keepScheduling,omitempty"`
}

// Hides reports whether clusters do not see changes of the workload. The receiver may be nil.
func (h *Hold) Hides() bool { return h != nil && !h.PlacementOnly }
