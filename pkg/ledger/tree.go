package ledger

import "sync/atomic"

// QueueSpec is a queue as its administrator wrote it.
type QueueSpec struct {
	Name string
	// Parent is the name of the parent queue; empty for a queue without one.
	Parent string
	// Capability holds the hard upper bounds. A dimension that is not listed is not
	// limited by this queue.
	Capability Amounts
	// ListsCards says that Capability has every [Card] that may be used in this queue and in those
	// below it, up to the next one that lists cards itself: any other is forbidden there. In sum
	// nobody may use more than any queue above lists, however far up.
	ListsCards bool
	// Deserved holds the fair targets: up to them a queue may take back from others what is
	// lent to them. A dimension that is not listed has none.
	Deserved Amounts
	// Guarantee holds what is reserved for the queue, whether it uses it or not.
	Guarantee Amounts
}

// QueueID is the index of a queue in a Ledger.
type QueueID int32

const none QueueID = -1

// SetAside is a queue that takes no part in the ledger, and why.
type SetAside struct {
	Queue string
	// Reason is a sentence that says what to change.
	Reason string
}

type queue struct {
	name     string
	parent   QueueID
	depth    int32
	children int32
	// capability is the queue's own; limits is what it comes to, see limits.go. Binding is the
	// same without limits that are just the parent's: the parent has no less than the queue, so
	// it refuses first, and its name is what people need to know.
	capability []Limit
	limits     []Limit
	binding    []Limit
	// lister is the nearest queue, this one first, that lists the cards that may be used; none if
	// none does.
	lister QueueID
	// free says that nothing is binding here, nor will be.
	free      bool
	deserved  []Limit
	guarantee Amounts
	accounts  [accounts][]Amount
}

// Ledger is a tree of queues with their limits and accounts. It may be read from many
// goroutines as long as none writes. Make one with New.
type Ledger struct {
	// id tells ledgers apart, see Part.
	id         uint64
	dimensions *Dimensions
	queues     []queue
	ids        map[string]QueueID
	// total is what the cluster has of every resource; nil if that is not known.
	total     Amounts
	uncovered []Uncovered
	// overlay has what a view changes; it is nil in a ledger that is none.
	overlay *overlay
}

var lastID atomic.Uint64

// New builds the tree. A queue that cannot be placed in it (its parent is missing, or it
// is its own ancestor), and every queue below such a queue, is set aside with a reason;
// all others work as if it were not there. Names must be unique.
//
// Total is what there is of every resource in the cluster; a [Resource] that is not in it
// does not exist. Of cards and devices no total is known. A nil total knows nothing of
// resources either.
func New(dimensions *Dimensions, total Amounts, specs []QueueSpec) (*Ledger, []SetAside) {
	l := &Ledger{id: lastID.Add(1), dimensions: dimensions, ids: make(map[string]QueueID, len(specs))}
	placement := place(specs)
	l.queues = make([]queue, 0, len(placement.order))
	for _, i := range placement.order {
		l.add(&specs[i])
	}
	if total != nil {
		l.total = append(Amounts{}, total...)
	}
	l.deriveLimits()
	return l, placement.setAside()
}

// Misplaced returns the queues that New would set aside.
func Misplaced(specs []QueueSpec) []SetAside {
	return place(specs).setAside()
}

// add appends a queue whose parent, if any, is there already.
func (l *Ledger) add(spec *QueueSpec) {
	q := queue{name: spec.Name, parent: none, lister: none, guarantee: spec.Guarantee.copied()}
	if spec.Parent != "" {
		q.parent = l.ids[spec.Parent]
		parent := &l.queues[q.parent]
		parent.children++
		q.depth = parent.depth + 1
		q.lister = parent.lister
	}
	if spec.ListsCards {
		q.lister = QueueID(len(l.queues))
	}
	q.capability = limitsOf(spec.Capability)
	q.deserved = limitsOf(spec.Deserved)
	l.ids[spec.Name] = QueueID(len(l.queues))
	l.queues = append(l.queues, q)
}

func limitsOf(as Amounts) []Limit {
	var limits []Limit
	for _, e := range as {
		limits = grown(limits, e.Dimension)
		limits[e.Dimension] = AtMost(e.Amount)
	}
	return limits
}

// Queue returns the ID of the queue of that name; false when there is none or when it was
// set aside.
func (l *Ledger) Queue(name string) (QueueID, bool) {
	id, found := l.ids[name]
	return id, found
}

// Name is the name of a queue.
func (l *Ledger) Name(q QueueID) string {
	return l.queues[q].name
}

// Leaf reports whether no queue of the ledger has q as its parent.
func (l *Ledger) Leaf(q QueueID) bool {
	return l.queues[q].children == 0
}

// Path returns the names of the queue and its ancestors, the queue first.
func (l *Ledger) Path(q QueueID) []string {
	var names []string
	for id := q; id != none; id = l.queues[id].parent {
		names = append(names, l.queues[id].name)
	}
	return names
}

// Within reports whether q is ancestor or below it.
func (l *Ledger) Within(q, ancestor QueueID) bool {
	return l.ancestor(q, l.queues[ancestor].depth) == ancestor
}

// ancestor climbs from q to that depth; q itself when it is no deeper.
func (l *Ledger) ancestor(q QueueID, depth int32) QueueID {
	for l.queues[q].depth > depth {
		q = l.queues[q].parent
	}
	return q
}

// CommonDepth is the number of proper ancestors that two queues share, counted from the top.
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

// grown returns s long enough to be indexed by o.
func grown[T any](s []T, o Ordinal) []T {
	if need := int(o) + 1 - len(s); need > 0 {
		s = append(s, make([]T, need)...)
	}
	return s
}
