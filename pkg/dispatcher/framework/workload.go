// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"slices"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Workload is a ResourceBinding that belongs to a queue, with the workload that it propagates. It is granted room as a whole.
// It does not change during a session.
type Workload struct {
	// Binding must not be changed. If Lost is set, the API server has no binding, and this one only identifies the object.
	Binding *workv1alpha2.ResourceBinding
	// Lost is the cluster that has the workload although Karmada has lost it. It is empty for all other workloads.
	Lost string
	// State is the state of the binding. It is not finished while a part of it may run in clusters that it has left.
	State binding.State
	// Works are the instructions of Karmada to the member clusters.
	Works []*workv1alpha1.Work
	// Places are the clusters in which a part of the workload may run, sorted. They are its clusters, and those that it has left
	// since the grant was last made or lowered.
	Places []string
	// Template is the content of the object, nil if TemplateErr is set.
	Template *workload.Template
	// Queue is the queue that is charged: the queue in the grant, else the queue that the workload names, else the default queue.
	Queue string
	// Created is when the binding was created: the workload waits since then.
	Created time.Time
	// Spread says how many clusters it goes to.
	Spread Spread
	// Needs is what the workload may come to hold, given Spread. It is meaningless if Err is set.
	Needs Needs
	// Lags says that it waits, and that its needs are counted in a later session, because there is too much to count in its namespace. Needs and Err are those
	// of an earlier one.
	Lags bool
	// TemplateErr says why there is no Template.
	TemplateErr error
	// Err says why the needs of the workload are unknown. It names the object that is missing or wrong.
	Err error

	// placementIsNew caches the result of PlacementIsNew.
	placementIsNew *bool
}

// Name returns namespace/name of the binding, which is unique.
func (w *Workload) Name() string { return w.Binding.Namespace + "/" + w.Binding.Name }

// Left returns the clusters that the workload has left and that may still run a part of it.
func (w *Workload) Left() []string {
	clusters := binding.Clusters(w.Binding)
	return slices.DeleteFunc(slices.Clone(w.Places), func(cluster string) bool { return slices.Contains(clusters, cluster) })
}

// Leaves returns the clusters that the workload leaves: those that it has left, and those that evict it.
func (w *Workload) Leaves() []string { return append(w.Left(), binding.Evicting(w.Binding)...) }

// PlacementIsNew is binding.PlacementIsNew. Each cycle asks, and users write placements of a hundred kilobytes. It is not safe for concurrent use.
func (w *Workload) PlacementIsNew() bool {
	if w.placementIsNew == nil {
		w.placementIsNew = ptr.To(binding.PlacementIsNew(w.Binding))
	}
	return *w.placementIsNew
}

// MovesAgain reports whether a workload has left the clusters of a former move, and is about to leave its current clusters. It stays charged for a move,
// so that nobody else gets the room meanwhile.
func (w *Workload) MovesAgain() bool {
	return w.State.Grant != nil && w.State.Grant.Moves && !w.State.Deleting && len(w.Leaves()) == 0 && len(w.Binding.Spec.Clusters) > 0 && w.PlacementIsNew()
}

// Waits reports whether the workload waits for a grant. A workload that is held for any reason and has no grant waits, too.
func (w *Workload) Waits() bool {
	hold := w.State.Hold
	return hold != nil && !w.State.Deleting && (hold.Reason == binding.Waiting || w.State.Grant == nil)
}

// Returns reports whether a grant is being taken back.
func (w *Workload) Returns() bool {
	hold := w.State.Hold
	return hold != nil && hold.Reason == binding.Returning && w.State.Grant != nil
}

// leavesWithin is for how long the room of a workload that leaves all its clusters is expected. It is longer than the hour that docs/guard.md lets pods
// take to end in members. Elsewhere, their users decide how long that takes.
const leavesWithin = 65 * time.Minute

// LeavesAll reports whether a workload leaves all its clusters, and until when its room is expected. It is expected at any time if until is zero.
func (w *Workload) LeavesAll() (until time.Time, leaves bool) {
	leaves = w.Returns() || w.State.Deleting && w.Lost == "" // a lost workload stays until a user deletes it
	switch deleted := w.Binding.DeletionTimestamp; {
	case deleted != nil:
		until = deleted.Add(leavesWithin)
	case leaves && w.State.Requeue != nil:
		until = w.State.Requeue.NotBefore.Add(leavesWithin)
	}
	return until, leaves
}

// Grows reports whether a workload with a grant waits for more.
func (w *Workload) Grows() bool {
	hold := w.State.Hold
	return hold != nil && hold.Reason == binding.Growing && w.State.Grant != nil && !w.State.Deleting
}

// maxInVain is after how many grants in vain a workload takes nothing back until Karmada has placed it: no cluster seems to accept it.
const maxInVain = 2

// InVain reports whether no cluster seems to accept a workload.
func (w *Workload) InVain() bool {
	return w.State.Requeue != nil && w.State.Requeue.Attempts >= maxInVain
}

// Spread says how many clusters a workload goes to.
type Spread struct {
	// Copies is how many clusters get the whole workload, and the worst case while the clusters are not chosen. It is one if the replicas
	// are divided.
	Copies int64
	// Leaving is how many other clusters may still have the whole workload.
	Leaving int64
	// Replicas is the number of replicas of a copy if it exceeds the template's, else zero. If the replicas are divided, all
	// clusters together are one copy.
	Replicas int64
	// Divided says that the replicas are divided among clusters. Clusters is the maximum number of these clusters.
	Divided  bool
	Clusters int64
	// Evicting is how many clusters evict a part of divided replicas, and Evicted is how many replicas that is.
	Evicting, Evicted int64
	// Granted is the grant of a workload that may have pods of several templates, nil if there is none.
	Granted *binding.Grant
}

// ClaimRead is a claim or claim template that was counted. What it gives depends on nothing else: its spec never changes.
type ClaimRead struct {
	IsTemplate bool
	Name       string
	UID        types.UID
	// Most is the most devices that it gives, if it says so.
	Most string
}

// ErrOtherDevices means that a claim or claim template takes the place of another one that pods of a workload may name.
var ErrOtherDevices = errors.New("pods may name it that were granted other devices")

// Needs is what a workload needs. Each alternative counts, because the member cluster chooses. Each dimension occurs once in each list.
type Needs struct {
	// Minimum is what it needs to start. All is what it may come to hold.
	Minimum, All ledger.Amounts
	// Stays is All without the clusters that it leaves. Settled is Stays when all clusters have carried out the current template. Copy is what one
	// copy has then.
	Stays, Settled, Copy ledger.Amounts
	// Unlisted are the cards that it asks for and that no queue lists. They have no dimensions, because users may write any name.
	// A queue that lists its cards refuses them.
	Unlisted []binding.Amount
	// Unnamed are capacities that some queue limits and for which the requested devices state no amount. Only a member cluster
	// knows the capacity of its devices. A queue that limits them refuses the workload.
	Unnamed []ledger.Ordinal
	// Pod is what one pod needs by the current template, for kinds that replace their pods. It is empty if there are no pods.
	Pod ledger.Amounts
	// Claims identifies the claims and claim templates that the pods name. It is empty if they name none.
	Claims string
	// Given are notes of these claims and claim templates: see binding.ClaimNote. Read are those that were counted.
	Given []string
	Read  []ClaimRead
	// Notice is for people: what could not be read exactly, and what is counted instead. It is usually empty.
	Notice string
}
