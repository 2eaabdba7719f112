// SPDX-License-Identifier: Apache-2.0

// Package accounting counts device-seconds: how much was held for how long and by which holder, how much of the guarantees of queues
// was idle, and how much pods waited for.
//
// The input is observations of sessions: the holders, and the amounts that are idle or waited for. Every ten seconds, a session
// observes everything. The sessions between report beginnings and ends only. The output is increments. An increment completes the
// record of the cluster up to a later time. A crash neither loses nor doubles usage that can be observed again, because an account
// needs only this time from the record.
//
// Times are whole seconds, as in the API server.
package accounting
