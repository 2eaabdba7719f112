// SPDX-License-Identifier: Apache-2.0

// Package find finds quotas of queues that are valid and surely not meant.
package find
