// Package card knows the accelerator cards that device plugins hand out, where every model has the
// same resource name.
//
// In come nodes and annotations. Out go card names with amounts: what a node offers ([Read]), what
// all nodes offer ([Fleet]), which cards a pod may get ([Names]) and how many of each somebody wrote
// down ([Numbers]). A card name is a model, such as NVIDIA-H20, or a share of one, such as
// NVIDIA-H20/mps-96g*1/2 or NVIDIA-H20/mig-1g.18gb-mixed.
//
// The package knows nothing of queues and quotas.
package card
