// SPDX-License-Identifier: Apache-2.0

// Package server serves the publications of the scheduler, read-only, over HTTPS. Its paths form an aggregated API, so the API server
// can forward requests with the identity of the user. Kubernetes' libraries authenticate and authorize requests. RBAC on the
// resources of visibility.devicequota.io decides which data a user may see.
package server
