// SPDX-License-Identifier: Apache-2.0

// Package lint finds mistakes in queues, DeviceClasses, ResourceSlices, nodes, the scheduler's configuration, and workloads. It also finds
// legal settings that are surely not intended. It makes no requests. For events of the scheduler, it uses the scheduler's words.
package lint
