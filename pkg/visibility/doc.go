// SPDX-License-Identifier: Apache-2.0

// Package visibility passes the scheduler's data to servers. A session publishes its ledger at its end, but only while clients are
// interested. Servers read the latest publication. Sessions and servers never wait for each other, because a publication does
// not change.
package visibility
