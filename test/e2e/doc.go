// Package e2e shows what users rely on through a real API server, with the real scheduler,
// Volcano's controllers and kwok in the place of kubelets. The suite starts its own control
// plane; `make test` builds the binaries that it needs.
//
// Every case has a namespace, a DeviceClass and queues of its own. All share the sixteen
// devices of config/samples/cluster.
package e2e
