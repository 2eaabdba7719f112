// SPDX-License-Identifier: Apache-2.0

// Package term draws text for people: tables, bars, and sparklines that fit the terminal. A Style describes the terminal, so all
// drawing is a function of its input.
package term
