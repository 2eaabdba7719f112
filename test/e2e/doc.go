// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the behaviour that users rely on. It uses an API server, the real scheduler, Volcano's controllers, and kwok
// instead of kubelets. The suite starts its own control plane. `make test` builds the binaries that it needs.
//
// Every case has its own namespace, DeviceClass, and queues. All cases share the sixteen devices of config/samples/cluster.
package e2e
