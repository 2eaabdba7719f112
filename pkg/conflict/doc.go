// SPDX-License-Identifier: Apache-2.0

// Package conflict repeats writes that the API server refused because somebody else had changed the object.
package conflict
