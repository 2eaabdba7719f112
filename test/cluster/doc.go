// Package cluster runs a real control plane on this machine: etcd, kube-apiserver,
// kube-controller-manager, Volcano's controllers, a Volcano scheduler, and kwok in the
// place of kubelets. Nothing is downloaded and nothing needs a container: [Start] executes
// binaries that `make build` makes from Go modules.
//
// Everything listens on the loopback interface only, with TLS, and each component has an
// identity of its own with no more rights than it needs; the scheduler has exactly those of
// config/rbac. All state is in one folder. When the process that called Start ends, however
// it ends, the control plane ends with it.
package cluster
