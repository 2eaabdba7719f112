// SPDX-License-Identifier: Apache-2.0

package ledger

import "sync/atomic"

// QueueSpec is a queue as its administrator defined it. The ledger copies the lists.
type QueueSpec struct {
	Name string
	// Parent is the name of the parent queue. Empty for a topmost queue.
	Parent string
	// Capability holds the hard upper bounds. The queue does not limit dimensions that are not listed.
	Capability Amounts
	// ListsCards says that Capability lists every [Card] that pods may use in this queue and its descendants, down to the next queue
	// with its own list. All other cards are forbidden there. Listed amounts also bound descendants that have their own lists.
	ListsCards bool
	// DeviceQuotaRequired says that pods in this queue and its descendants may use a device class only if the
	// capability of a queue on the way to the root lists it.
	DeviceQuotaRequired bool
	// Deserved holds the fair targets. Up to its target, a queue may take back amounts that other queues borrow. A
	// dimension that is not listed has no target.
	Deserved Amounts
	// Guarantee holds the amounts reserved for the queue, used or not.
	Guarantee Amounts
}

// QueueID is the index of a queue in a Ledger.
type QueueID int32

const none QueueID = -1

// SetAside is a queue that the ledger leaves out.
type SetAside struct {
	// Queue is the name of the queue.
	Queue string
	// Reason says why the ledger leaves the queue out, and what to change.
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

// Ledger is a tree of queues with their limits and accounts. Make one with New. Many goroutines may read a ledger while
// no goroutine changes it.
type Ledger struct {
	// id is unique. By it, a part knows the ledger in which it is charged.
	id         uint64
	dimensions *Dimensions
	queues     []queue
	ids        map[string]QueueID
	// total holds the cluster's amount of every resource. It is nil if the amounts are unknown.
	total     Amounts
	uncovered []Uncovered
	// deserving records the dimensions in which a queue of a group of siblings deserves something.
	deserving map[groupDimension]bool
	// overlay holds the changes of a view. It is nil if the ledger is not a view.
	overlay *overlay
	// held says that amounts of releasing holders count, see Held.
	held bool
}

var lastID atomic.Uint64

// New builds a ledger. It sets aside queues without a place in the tree, with a reason. Their parent does not exist, they are their
// own ancestor, or an ancestor is set aside. All other queues work as if these queues did not exist. Names must be unique.
//
// total holds the cluster's amount of each [Resource]. A resource that is not listed does not exist. If total is nil, the cluster
// does not limit resources. The cluster never limits cards and devices.
//
// The ledger keeps dimensions. Amounts of dimensions that are interned later can also be checked and charged.
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

// add appends a queue. Its parent, if any, is already there.
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

// Queue returns the ID of the queue with this name. It returns false if the queue does not exist or is set aside.
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

// Path returns the names of the queue and its ancestors, up to the root.
func (l *Ledger) Path(q QueueID) []string {
	var names []string
	for id := q; id != none; id = l.queues[id].parent {
		names = append(names, l.queues[id].name)
	}
	return names
}

// Within reports whether q is the given ancestor or one of its descendants.
func (l *Ledger) Within(q, ancestor QueueID) bool {
	return l.ancestor(q, l.queues[ancestor].depth) == ancestor
}

// ancestor returns the ancestor of q at a depth, or q itself if it is not deeper.
func (l *Ledger) ancestor(q QueueID, depth int32) QueueID {
	for l.queues[q].depth > depth {
		q = l.queues[q].parent
	}
	return q
}

// Common returns the lowest queue within which two queues are. It returns false if there is none.
func (l *Ledger) Common(a, b QueueID) (QueueID, bool) {
	a, b = l.ancestor(a, l.queues[b].depth), l.ancestor(b, l.queues[a].depth)
	for a != b {
		a, b = l.queues[a].parent, l.queues[b].parent
	}
	return a, a != none
}

// CommonDepth returns the number of proper ancestors that two queues share.
func (l *Ledger) CommonDepth(a, b QueueID) int {
	a, b = l.queues[a].parent, l.queues[b].parent
	if a == none || b == none {
		return 0
	}
	if common, found := l.Common(a, b); found {
		return int(l.queues[common].depth) + 1
	}
	return 0
}

// Branches returns the children of the lowest common proper ancestor of two queues, on the way to each of them. If
// there is no common ancestor, it returns the topmost ancestors.
func (l *Ledger) Branches(a, b QueueID) (QueueID, QueueID) {
	depth := int32(l.CommonDepth(a, b))
	return l.ancestor(a, depth), l.ancestor(b, depth)
}

// grown extends s until o is a valid index.
func grown[T any](s []T, o Ordinal) []T {
	if need := int(o) + 1 - len(s); need > 0 {
		s = append(s, make([]T, need)...)
	}
	return s
}
