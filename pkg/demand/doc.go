// Package demand turns a pod, or a job whose pods do not exist yet, into what the ledger can check
// and charge.
//
// A pod and the claims it refers to come in; parts of a [ledger.Demand] go out, one for each
// claim, so that a claim that pods share is charged once. What claims come to is
// remembered, see [Claims].
package demand
