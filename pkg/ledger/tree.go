// SPDX-License-Identifier: Apache-2.0

package ledger

import "sync/atomic"

// QueueSpec is a queue as its administrator wrote it. The lists are copied.
type QueueSpec struct {
	Name string
	// Parent is the name of the parent queue. It is empty for a topmost queue.
	Parent string
	// Capability holds the hard upper bounds. The queue does not limit a dimension that is not
	// listed.
	Capability Amounts
	// ListsCards says that Capability lists every [Card] that pods may use in this queue and in its
	// descendants, down to the next queue that lists cards itself. All other cards are forbidden
	// there. The amounts that a queue lists bound all of its descendants, including those that have
	// lists of their own.
	ListsCards bool
	// DeviceQuotaRequired says that pods in this queue and in its descendants may use devices of a class only if
	// the capability of a queue on the way to the root lists the class.
	DeviceQuotaRequired bool
	// Deserved holds the fair targets. A queue may take back from other queues what they borrow,
	// up to its target. A dimension that is not listed has no target.
	Deserved Amounts
	// Guarantee holds what is reserved for the queue, used or not.
	Guarantee Amounts
}

// QueueID is the index of a queue in a Ledger.
type QueueID int32

const none QueueID = -1

// SetAside is a queue that the ledger leaves out.
type SetAside struct {
	// Queue is the name of the queue.
	Queue string
	// Reason says why the queue is left out and what to change.
	Reason string
}

// queue is a node of the tree, with its limits and accounts.
type queue struct {
	name     string
	parent   QueueID
	depth    int32
	children int32
	quota
	accounts [accounts][]Amount
}

// Ledger is a tree of queues with their limits and accounts. Make one with New. Many goroutines may
// read a ledger at the same time while no goroutine changes it.
type Ledger struct {
	// id is unique, so that a part knows which ledger it is charged in.
	id         uint64
	dimensions *Dimensions
	queues     []queue
	ids        map[string]QueueID
	// total is what the cluster has of every resource; nil if that is not known.
	total     Amounts
	uncovered []Uncovered
	// deserving says in which dimensions a queue of a group of siblings deserves something.
	deserving map[groupDimension]bool
	// overlay holds the changes of a view. It is nil in a ledger that is not a view.
	overlay *overlay
	// held says that what releasing holders hold counts, see Held.
	held bool
}

var lastID atomic.Uint64

// New builds a ledger. A queue that has no place in the tree is set aside with a reason: its parent
// does not exist, the queue is its own ancestor, or an ancestor is set aside. All other queues work
// as if it did not exist. Names must be unique.
//
// Total holds what the cluster has of each [Resource]; a resource that is not listed does not exist.
// If total is nil, the cluster does not limit resources. It never limits cards and devices.
//
// The ledger keeps dimensions. Amounts of dimensions that are interned later can be checked and
// charged as well.
func New(dimensions *Dimensions, total Amounts, specs []QueueSpec) (*Ledger, []SetAside) {
	l := &Ledger{id: lastID.Add(1), dimensions: dimensions, ids: make(map[string]QueueID, len(specs))}
	specs = alignSpellings(dimensions, specs)
	placement := place(specs)
	l.queues = make([]queue, 0, len(placement.order))
	for _, i := range placement.order {
		l.add(&specs[i])
	}
	if total != nil {
		l.total = append(Amounts{}, total...)
	}
	l.cutGuarantees()
	l.reserve()
	l.deriveLimits()
	l.findDeserving()
	return l, placement.setAside()
}

// Misplaced returns the queues that New would set aside.
func Misplaced(specs []QueueSpec) []SetAside {
	return place(specs).setAside()
}

// add appends a queue. Its parent, if it has one, is already there.
func (l *Ledger) add(spec *QueueSpec) {
	q := queue{name: spec.Name, parent: none}
	q.lister, q.guarantee = none, spec.Guarantee.copied()
	if spec.Parent != "" {
		q.parent = l.ids[spec.Parent]
		parent := &l.queues[q.parent]
		parent.children++
		q.depth = parent.depth + 1
		q.lister, q.deviceQuotaRequired = parent.lister, parent.deviceQuotaRequired
	}
	if spec.ListsCards {
		q.lister = QueueID(len(l.queues))
	}
	q.deviceQuotaRequired = q.deviceQuotaRequired || spec.DeviceQuotaRequired
	q.capability = limitsOf(spec.Capability)
	q.deserved = limitsOf(spec.Deserved)
	l.ids[spec.Name] = QueueID(len(l.queues))
	l.queues = append(l.queues, q)
}

// Queue returns the ID of the queue of that name; false if the queue does not exist or is set aside.
func (l *Ledger) Queue(name string) (QueueID, bool) {
	id, found := l.ids[name]
	return id, found
}

// Dimension returns the dimension that an ordinal stands for.
func (l *Ledger) Dimension(o Ordinal) Dimension {
	return l.dimensions.Dimension(o)
}

// Name returns the name of a queue.
func (l *Ledger) Name(q QueueID) string {
	return l.queues[q].name
}

// Leaf reports whether q has no children.
func (l *Ledger) Leaf(q QueueID) bool {
	return l.queues[q].children == 0
}

// Path returns the names of the queue and its ancestors, from the queue to the root.
func (l *Ledger) Path(q QueueID) []string {
	var names []string
	for id := q; id != none; id = l.queues[id].parent {
		names = append(names, l.queues[id].name)
	}
	return names
}

// Within reports whether q is the ancestor or a descendant of it.
func (l *Ledger) Within(q, ancestor QueueID) bool {
	return l.ancestor(q, l.queues[ancestor].depth) == ancestor
}

// ancestor returns the ancestor of q at that depth, and q itself if it is not deeper.
func (l *Ledger) ancestor(q QueueID, depth int32) QueueID {
	for l.queues[q].depth > depth {
		q = l.queues[q].parent
	}
	return q
}

// CommonDepth returns the number of proper ancestors that two queues share.
func (l *Ledger) CommonDepth(a, b QueueID) int {
	a, b = l.queues[a].parent, l.queues[b].parent
	if a == none || b == none {
		return 0
	}
	a, b = l.ancestor(a, l.queues[b].depth), l.ancestor(b, l.queues[a].depth)
	for a != b {
		a, b = l.queues[a].parent, l.queues[b].parent
	}
	if a == none {
		return 0
	}
	return int(l.queues[a].depth) + 1
}

// Branches returns, for two queues, the children of their lowest common proper ancestor that contain
// them. If they have no common ancestor, it returns their topmost ancestors.
func (l *Ledger) Branches(a, b QueueID) (QueueID, QueueID) {
	depth := int32(l.CommonDepth(a, b))
	return l.ancestor(a, depth), l.ancestor(b, depth)
}

// grown returns s, extended so that o is a valid index.
func grown[T any](s []T, o Ordinal) []T {
	if need := int(o) + 1 - len(s); need > 0 {
		s = append(s, make([]T, need)...)
	}
	return s
}
