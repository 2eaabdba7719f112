// SPDX-License-Identifier: Apache-2.0

package binding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Grant is what a binding may use, and the queue that is charged for it.
type Grant struct {
	// Queue is charged, whatever queue the workload names by now.
	Queue string `json:"queue"`
	// Group is the PodGroup whose reserve the pods use, empty if there is none. It stays the same, whatever group the pods name
	// later: others could use the reserve that they leave, although they go on running.
	Group string `json:"group,omitempty"`
	// Time is when the grant was made. Growth does not change it.
	Time metav1.Time `json:"time"`
	// Decided is when it was decided what the amounts are. It is Time unless they have changed since.
	Decided metav1.Time `json:"decided"`
	// Clusters are those in which something of the workload may run. A cluster that it has left stays until nothing does.
	Clusters []string `json:"clusters,omitempty"`
	// Moves says that it leaves clusters, or has left clusters since its placement last changed. It is charged for its next move at once.
	Moves bool `json:"moves,omitempty"`
	// Grace is for how many seconds at most one of its pods may go on running after it was deleted.
	Grace int64 `json:"grace,omitempty"`
	// Claims identifies the claims that its pods name: see framework.Needs.
	Claims string `json:"claims,omitempty"`
	// Given are notes of the claims and claim templates that pods of all its templates may name: see ClaimNote. They are sorted.
	Given []string `json:"given,omitempty"`
	// Shape is what its pods keep of their template, whatever that becomes: see workload.Template.
	Shape string `json:"shape,omitempty"`
	// Pod is the most that one of its pods has, of all templates that clusters may make pods of. It is empty for kinds that do not replace
	// their pods when the template changes.
	Pod []Amount `json:"pod,omitempty"`
	// Amounts are what its queue has granted: as many copies of the workload as there are clusters that get it. Clusters that it leaves are charged in
	// addition, whether the queue has room or not. Amounts has no entry that is zero, and each dimension once, in the order of their names.
	Amounts []Amount `json:"amounts"`
	// Copies is the number of copies. It is omitted if it is one. Copy is the most that one of them may have, of all templates that clusters may have. It is
	// empty if there is one copy, which has the Amounts.
	Copies int64    `json:"copies,omitempty"`
	Copy   []Amount `json:"copy,omitempty"`
}

// OneCopy returns the most that one copy may have.
func (g *Grant) OneCopy() []Amount {
	if g.Copies > 1 {
		return g.Copy
	}
	return g.Amounts
}

// Amount is an amount of one dimension.
type Amount struct {
	Dimension ledger.Dimension
	Amount    ledger.Amount
}

// Requeue says when a binding may be tried again after an unsuccessful grant.
type Requeue struct {
	// Attempts is how many grants were in vain since the workload was last scheduled.
	Attempts int `json:"attempts"`
	// NotBefore is when the binding may be tried again.
	NotBefore metav1.Time `json:"notBefore"`
	// Reason says why the last grant was in vain, for people.
	Reason string `json:"reason"`
}
