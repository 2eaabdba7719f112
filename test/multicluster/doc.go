// SPDX-License-Identifier: Apache-2.0

// Package multicluster tests what users of several clusters rely on. It asks Karmada's API server, with real
// Karmada components and two members that are control planes with this project's scheduler. The build tag
// multicluster keeps the tests out of `make test`; `make test-multicluster` builds what they need and runs them.
//
// Every case has its own namespace and queues. All cases share the nodes and devices of testdata. Scenarios of the dispatcher
// run side by side: see play. A record of all changes on Karmada's API server shows after each that no queue ever had more
// released than it may hold: see replay. Samples of the pods in the members show that no more than that ran: see samples. The
// churn does everything at once, for minutes: see churn.
package multicluster
