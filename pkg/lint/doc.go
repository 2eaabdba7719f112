// SPDX-License-Identifier: Apache-2.0

// Package lint finds what is wrong, or legal and surely not meant, in queues, DeviceClasses, ResourceSlices, nodes, the scheduler's
// configuration, and workloads. It reads objects and makes no requests. What the scheduler would say, it says in the same words.
package lint
