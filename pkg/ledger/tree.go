package ledger

// QueueSpec is a queue as its administrator wrote it.
type QueueSpec struct {
	Name string
	// Parent is the name of the parent queue; empty for a queue without one.
	Parent string
	// Capability holds the hard upper bounds. A dimension that is not listed is not
	// limited by this queue.
	Capability Amounts
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
	name       string
	parent     QueueID
	children   int
	capability []Limit
	allocated  []Amount
}

// Ledger is a tree of queues with their limits and accounts. It is not safe for
// concurrent use. Make one with New.
type Ledger struct {
	dimensions *Dimensions
	queues     []queue
	ids        map[string]QueueID
	charges    map[Key]*charge
}

// New builds the tree. A queue that cannot be placed in it (its parent is missing, or it
// is its own ancestor), and every queue below such a queue, is set aside with a reason;
// all others work as if it were not there. Names must be unique.
func New(dimensions *Dimensions, specs []QueueSpec) (*Ledger, []SetAside) {
	l := &Ledger{dimensions: dimensions, ids: make(map[string]QueueID, len(specs)), charges: map[Key]*charge{}}
	placement := place(specs)
	for _, i := range placement.order {
		l.add(specs[i])
	}
	return l, placement.setAside()
}

// Misplaced returns the queues that New would set aside.
func Misplaced(specs []QueueSpec) []SetAside {
	return place(specs).setAside()
}

// add appends a queue whose parent, if any, is there already.
func (l *Ledger) add(spec QueueSpec) {
	q := queue{name: spec.Name, parent: none}
	if spec.Parent != "" {
		q.parent = l.ids[spec.Parent]
		l.queues[q.parent].children++
	}
	for _, e := range spec.Capability {
		q.capability = grown(q.capability, e.Dimension)
		q.capability[e.Dimension] = AtMost(e.Amount)
	}
	l.ids[spec.Name] = QueueID(len(l.queues))
	l.queues = append(l.queues, q)
}

// Queue returns the ID of the queue of that name; false when there is none or when it was
// set aside.
func (l *Ledger) Queue(name string) (QueueID, bool) {
	id, found := l.ids[name]
	return id, found
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

// Allocated returns what the queue and all queues below it hold of a dimension.
func (l *Ledger) Allocated(q QueueID, o Ordinal) Amount {
	if int(o) >= len(l.queues[q].allocated) {
		return Amount{}
	}
	return l.queues[q].allocated[o]
}

// Capability returns the queue's own limit of a dimension, not its ancestors'.
func (l *Ledger) Capability(q QueueID, o Ordinal) Limit {
	if int(o) >= len(l.queues[q].capability) {
		return Limit{}
	}
	return l.queues[q].capability[o]
}

// LimitedBy returns the name of the lowest queue, from q upwards, that limits a dimension;
// false when none does.
func (l *Ledger) LimitedBy(q QueueID, o Ordinal) (string, bool) {
	for id := q; id != none; id = l.queues[id].parent {
		if l.Capability(id, o).Set {
			return l.queues[id].name, true
		}
	}
	return "", false
}

// Limits reports whether q or an ancestor limits any dimension of that kind.
func (l *Ledger) Limits(q QueueID, kind Kind) bool {
	for id := q; id != none; id = l.queues[id].parent {
		for o, limit := range l.queues[id].capability {
			if limit.Set && l.dimensions.Dimension(Ordinal(o)).Kind == kind {
				return true
			}
		}
	}
	return false
}

// grown returns s long enough to be indexed by o.
func grown[T any](s []T, o Ordinal) []T {
	if need := int(o) + 1 - len(s); need > 0 {
		s = append(s, make([]T, need)...)
	}
	return s
}
