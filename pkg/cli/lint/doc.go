// SPDX-License-Identifier: Apache-2.0

// Package lint is the command kubectl devicequota lint. It reads files and the cluster, and prints the findings of package lint.
package lint
