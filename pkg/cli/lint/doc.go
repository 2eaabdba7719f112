// SPDX-License-Identifier: Apache-2.0

// Package lint is the command kubectl devicequota lint: it reads files and the cluster, and prints what package lint finds.
package lint
