// SPDX-License-Identifier: Apache-2.0

// Package certificates gives a webhook a certificate that API servers trust, without cert-manager.
//
// Replicas share their certificates in a Secret. Each certificate has its own authority. The authority's key is discarded after the signature, so
// readers of the Secret cannot create other certificates. A replica adds a certificate when the newest one is close to its end. API servers get
// the new authority at once, beside the former one. The former certificate stays in use for a while. So each API server trusts the certificates of
// all replicas.
package certificates
