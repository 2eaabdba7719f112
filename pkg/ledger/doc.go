// Package ledger is the one place where quota arithmetic happens.
//
// In come queues with their limits (built once per scheduling session) and demands with
// stable keys. Out go decisions: fits, or a [Refusal] that names the queue, the dimension
// and the numbers. A demand is a list of parts, and each part is charged once however
// many holders it has, so that a device claim shared by pods counts once, in every common
// ancestor too.
//
// The package knows nothing of Kubernetes: everything is exact integers over interned
// dimensions, and a check touches only the dimensions that a demand names, at the queue
// and its ancestors.
package ledger
