// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart, the kustomization, and the installations of docs/install.md and docs/multicluster.md. It installs them on a
// real API server, beside Volcano's own charts from the module cache. It needs helm: run it with the build tag chart or `make test-chart`.
//
// No kubelet runs the pods of Deployments. Instead, a test runs the scheduler's binary with the arguments, environment, configuration,
// and ServiceAccount of its Deployment. The API server reaches it through the Service and the EndpointSlice: see serviceNetwork.
package chart
