// SPDX-License-Identifier: Apache-2.0

// Package readiness knows which resources the scheduler cannot read, and why.
//
// Informers come in, before they start. The answer is nil, or an error that names every resource that
// has not been read yet, or can no longer be read. It goes to the endpoint /readyz and to pods that wait
// because of it. Explain says the same of anything else that fails because of a missing permission.
package readiness
