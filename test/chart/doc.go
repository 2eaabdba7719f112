// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart, the kustomization, and the installations of docs/install.md and docs/multicluster.md. It installs them on
// a real API server, beside Volcano's own charts from the module cache. The build tag chart and `make test-chart` run it, because it needs helm.
//
// No kubelet runs the pods of Deployments. Instead, a test runs the scheduler's binary with the arguments, environment, and
// configuration of the Deployment in the cluster, as its ServiceAccount. The API server reaches it through the Service and the EndpointSlice that
// leads to its pod: see serviceNetwork.
package chart
