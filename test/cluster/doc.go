// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real control plane on this machine: etcd, kube-apiserver, kube-controller-manager, Volcano's controllers, a Volcano
// scheduler, and kwok in place of kubelets. It needs no downloads and no containers: [Start] runs binaries that `make build` builds from Go
// modules.
//
// All components listen only on the loopback interface, with TLS, and each has its own identity. The scheduler has exactly the permissions in
// config/rbac. All state is in one folder. The control plane ends with the process that called Start, even if that process is killed.
//
// [StartKarmada] runs a Karmada control plane with several clusters as its members. `make build-multicluster` builds its binaries.
package cluster
