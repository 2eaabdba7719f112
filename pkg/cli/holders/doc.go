// SPDX-License-Identifier: Apache-2.0

// Package holders is the command kubectl devicequota holders. It shows who holds which amounts, and since when.
package holders
