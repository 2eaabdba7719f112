// SPDX-License-Identifier: Apache-2.0

// Package top is the command kubectl devicequota top. It shows how much queues had allocated in the last hour.
package top
