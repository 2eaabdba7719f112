// SPDX-License-Identifier: Apache-2.0

// Package proxy disturbs what passes between one client and an API server, to show what the client does with a late or wrong view of its cluster.
// It delays watches by resource, ends them so that the client lists again, holds them back, answers requests with errors, and loses the answers
// to writes. It can also cut the client off.
//
// All random choices come from one seed. Each kind of request has a random sequence of its own, so the fate of the third update of a claim
// does not depend on other requests.
package proxy
