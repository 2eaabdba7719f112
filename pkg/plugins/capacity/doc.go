// Package capacity is the Volcano scheduler plugin that is registered under the name
// capacity in place of upstream's.
//
// It translates and nothing else: a session's queues, jobs and pods become limits, demands
// and charges of one ledger (built anew for every session), and the ledger's answers become
// Volcano's. Each extension point has a file of its own, named as Volcano names it; what
// outlives a session is in process.go.
package capacity
