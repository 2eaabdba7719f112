// SPDX-License-Identifier: Apache-2.0

// Package workload reads the objects that bindings propagate: Volcano Jobs, PodGroups, Deployments, StatefulSets,
// Kubernetes Jobs, and Pods. Of any other kind it takes what Karmada knows of it. Objects come in. Templates go out: how
// many pods of which shape, the queue, the priority. The status that member clusters report comes in, too, and
// Finished says whether it is the end of the workload.
//
// The package is pure: it reads no API, and knows neither queues nor quotas.
package workload
