// SPDX-License-Identifier: Apache-2.0

// Package certificates gives a webhook a certificate that API servers trust, without cert-manager.
//
// Replicas share their certificates in a Secret. Each certificate has an authority of its own, whose key is thrown away as soon as it
// has signed: nobody who reads the Secret can make another certificate. A replica that finds the newest certificate close to its end
// adds another one. API servers get its authority at once, next to that of the certificate before, which stays in use
// for another while. So each API server trusts whatever certificate any replica serves.
package certificates
