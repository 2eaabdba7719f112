// SPDX-License-Identifier: Apache-2.0

// Package webhook validates quotas and annotations about cards when users write them. It uses the scheduler's own readers, and refuses
// values that the scheduler could not read. It keeps no state between requests, and makes no requests.
//
// It accepts malformed text that an object had before, so the object stays writable.
package webhook
