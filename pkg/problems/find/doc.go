// SPDX-License-Identifier: Apache-2.0

// Package find finds quotas of queues that are valid but surely not intended.
package find
