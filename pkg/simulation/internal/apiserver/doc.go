// SPDX-License-Identifier: Apache-2.0

// Package apiserver is an API server in memory for a scheduler. It lists, watches, reads, and writes the objects of a snapshot, and serves
// discovery and a version. It does not listen on a socket. A REST configuration reaches it through a special transport, so a client with
// this configuration cannot reach a real cluster.
//
// It has no admission, no authorization, no validation, and no controllers.
package apiserver
