// SPDX-License-Identifier: Apache-2.0

// Package card identifies the accelerator cards that device plugins offer. For Kubernetes, all models of a vendor are one
// resource, such as nvidia.com/gpu.
//
// The input is nodes and annotations. The output is card names with amounts: the cards of a node ([Read]), the cards of all
// nodes ([Fleet]), the cards that a pod may get ([Names]), and the numbers of cards in a quota or a request ([Numbers]). A card
// name is a model, such as NVIDIA-H20, or a share of a model, such as NVIDIA-H20/mps-96g*1/2 or NVIDIA-H20/mig-1g.18gb-mixed.
//
// The package does not depend on queues or quotas.
package card
