// SPDX-License-Identifier: Apache-2.0

// Package tree is the command kubectl devicequota tree. It shows queues below their parents, and how much of each quota is used.
package tree
