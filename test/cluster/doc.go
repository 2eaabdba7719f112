// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager, Volcano's controllers, a Volcano scheduler, and kwok in place of
// kubelets. There are no downloads and no containers: [Start] runs binaries that `make build` builds from Go
// modules.
//
// All components listen on the loopback interface only, with TLS, and each has an identity of its own. The
// scheduler has exactly the permissions in config/rbac. All state is in one folder. The control plane ends
// with the process that called Start, even if that process is killed.
//
// [StartKarmada] runs a Karmada control plane and several such clusters as its members. Its binaries are built
// by `make build-multicluster`.
package cluster
