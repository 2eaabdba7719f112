// SPDX-License-Identifier: Apache-2.0

// Package ui tests the web page of the scheduler's endpoint in a real browser, on a real control plane. It is a module of its own, so that
// nothing else depends on a browser's protocol.
package ui
