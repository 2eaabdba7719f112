// SPDX-License-Identifier: Apache-2.0

// Package webhook reads quotas and annotations about cards with the scheduler's own readers when users write them, and refuses what
// the scheduler could not read. It validates. It keeps nothing between requests, and asks nobody.
//
// What has been there before is not refused: an object stays writable as long as the malformed text in it stays as it is.
package webhook
