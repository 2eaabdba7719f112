// SPDX-License-Identifier: Apache-2.0

// Package apiserver is as much of an API server, in memory, as a scheduler needs: it lists, watches, reads, and writes the objects of
// a snapshot, and says which resources and which version it serves. Nothing listens on a socket: a REST configuration leads to it
// through a transport of its own, so that no client that is given this configuration can reach a real cluster.
//
// It has no admission, no authorization, and no validation, and no controller but those that Controller functions of callers are.
package apiserver
