// Package ledger is the one place where quota arithmetic happens.
//
// In come queues with their limits (a ledger is built for each scheduling session) and
// demands. Out go decisions: fits, or a [Refusal] that names the queue, the dimension and
// the numbers. A demand is a list of parts, and each part is charged once however many
// holders it has, so that a device claim shared by pods counts once, in every common
// ancestor too.
//
// The package knows nothing of Kubernetes: everything is exact integers over interned
// dimensions. A check touches only the dimensions that a demand names, at the queue and its
// ancestors, and takes no memory from the heap. What would be if something were released or
// charged is asked of a [Ledger.View], in which nothing is copied before it is written.
package ledger
