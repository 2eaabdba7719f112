// SPDX-License-Identifier: Apache-2.0

// Package term draws text for people: tables, bars, and sparklines that fit the terminal. What the terminal can do comes in as a
// Style, so that all drawing is a function of its input.
package term
