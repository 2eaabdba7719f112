// SPDX-License-Identifier: Apache-2.0

// Package multicluster tests the behaviour that users of several clusters rely on. It uses Karmada's API server, real Karmada
// components, and two members: control planes with this project's scheduler. The build tag multicluster excludes the tests from
// `make test`. `make test-multicluster` builds the binaries and runs the tests.
//
// Every case has its own namespace and queues. All cases share the nodes and devices of testdata. Scenarios of the dispatcher run
// side by side: see play. After each, the recorded changes on Karmada's API server prove that no queue released more than it may
// hold: see replay. Samples of the pods in the members prove that no more ran: see samples. The churn tests everything at once: see churn.
package multicluster
