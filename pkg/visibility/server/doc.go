// SPDX-License-Identifier: Apache-2.0

// Package server serves what the scheduler publishes, read-only, over HTTPS. The paths are those of an aggregated API, so that
// the API server can forward requests and the identity of the user. Kubernetes' libraries authenticate and authorize requests:
// RBAC on the resources of visibility.devicequota.io decides who may see what.
package server
