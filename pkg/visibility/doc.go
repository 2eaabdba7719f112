// SPDX-License-Identifier: Apache-2.0

// Package visibility hands what the scheduler knows to those who ask. Sessions publish what their ledger says at their
// end, and only while somebody asks. Servers read what was published last. The two never wait for each other: what is
// published is not changed any more.
package visibility
