// Package demand turns a pod into what the ledger can check and charge.
//
// A pod and the claims it refers to come in; a [ledger.Demand] goes out, one part per
// claim, keyed by the claim's UID, so that a claim shared by pods is charged once.
package demand
