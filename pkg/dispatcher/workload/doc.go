// SPDX-License-Identifier: Apache-2.0

// Package workload reads the objects that bindings propagate: Volcano Jobs, PodGroups, Deployments, StatefulSets, DaemonSets,
// Kubernetes Jobs, CronJobs, and Pods. For any other kind, it uses what Karmada knows of the object. It turns objects into templates:
// how many pods of which shape, the queue, and the priority. It also reads the status that member clusters report.
//
// The package is pure: it reads no API, and knows neither queues nor quotas.
package workload
