// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Workload is a ResourceBinding that belongs to a queue, and the workload that it propagates. It is granted room as a
// whole. It stays the same during a session.
type Workload struct {
	// Binding must not be changed. If Lost is set, the API server has none, and it only says what the object is.
	Binding *workv1alpha2.ResourceBinding
	// Lost is the cluster that has the workload although Karmada has lost it, empty in general.
	Lost string
	// State is where the binding stands. It has not finished while something of it may run in clusters that it has left.
	State binding.State
	// Works are what the member clusters are told to run.
	Works []*workv1alpha1.Work
	// Places are the clusters in which something of the workload may run, sorted: those that it goes to, and those that it has left
	// since the grant was made or lowered last.
	Places []string
	// Template is what the object says, nil if TemplateErr is set.
	Template *workload.Template
	// Queue is the queue that is charged: the one in the grant, else the one that the workload names, else the default
	// queue.
	Queue string
	// Created is when the workload began to wait: when its binding was created.
	Created time.Time
	// Spread is to how many clusters it goes.
	Spread Spread
	// Needs is what the workload may come to hold, given Spread. It is meaningless if Err is set.
	Needs Needs
	// TemplateErr says why there is no Template.
	TemplateErr error
	// Err says why it is not known what the workload needs, and names the object that is missing or wrong.
	Err error
}

// Name returns namespace/name of the binding, which is unique.
func (w *Workload) Name() string { return w.Binding.Namespace + "/" + w.Binding.Name }

// Left returns the clusters that the workload has left, and in which something of it may run.
func (w *Workload) Left() []string {
	clusters := binding.Clusters(w.Binding)
	return slices.DeleteFunc(slices.Clone(w.Places), func(cluster string) bool { return slices.Contains(clusters, cluster) })
}

// Waits reports whether the workload waits for a grant. What is said to grow, and has no grant, waits for all that it needs.
func (w *Workload) Waits() bool {
	hold := w.State.Hold
	return hold != nil && !w.State.Deleting && (hold.Reason == binding.Waiting || hold.Reason == binding.Growing && w.State.Grant == nil)
}

// Returns reports whether a grant is being taken back.
func (w *Workload) Returns() bool {
	hold := w.State.Hold
	return hold != nil && hold.Reason == binding.Returning
}

// Grows reports whether a workload that has a grant waits for more.
func (w *Workload) Grows() bool {
	hold := w.State.Hold
	return hold != nil && hold.Reason == binding.Growing && w.State.Grant != nil && !w.State.Deleting
}

// Spread is to how many clusters a workload goes.
type Spread struct {
	// Copies is how many clusters get the whole workload. It is the worst case while the clusters are not chosen, and
	// includes clusters that it is being evicted from. It is one if the replicas are divided.
	Copies int64
	// Replicas is how many replicas a copy has if that is more than what the template says; else zero. All clusters together
	// are one copy if the replicas are divided.
	Replicas int64
	// Divided says that the replicas are divided among clusters, and Clusters among how many at most.
	Divided  bool
	Clusters int64
	// Granted is the grant of a workload whose pods clusters may make of several templates, nil if there is none.
	Granted *binding.Grant
}

// Needs is what a workload needs. Of alternatives, each counts, because the member cluster chooses.
type Needs struct {
	// Minimum is what it needs to start. All is what it may come to hold. Each dimension occurs once.
	Minimum, All ledger.Amounts
	// Unlisted are cards that it asks for and that no queue lists. They are no amounts, because users may write any name.
	// They are refused where a queue lists the cards that may be used.
	Unlisted []binding.Amount
	// Unnamed are the capacities that some queue limits, and of which the devices that it asks for name no amount. Only a
	// member cluster knows what its devices have. They are refused where a queue limits them.
	Unnamed []ledger.Ordinal
	// Pod is what one pod needs, as the template says now, if clusters replace pods when that changes. It is empty if there are no pods.
	Pod ledger.Amounts
	// Claims identifies the claims and claim templates that the pods name. It is empty if they name none.
	Claims string
	// Notice is for people: what could not be read exactly, and what is counted instead. It is empty in general.
	Notice string
}
