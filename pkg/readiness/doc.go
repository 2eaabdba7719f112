// SPDX-License-Identifier: Apache-2.0

// Package readiness knows which resources the scheduler cannot read, and why.
//
// The input is informers that have not started yet. The output is nil, or an error that names every resource that is not read
// yet or can no longer be read. The endpoint /readyz and waiting pods show this error. [Explain] formats other failures, such
// as missing permissions, in the same way.
package readiness
