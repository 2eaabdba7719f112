// SPDX-License-Identifier: Apache-2.0

package extended

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
)

// Serving finds out what serves extended resources on nodes: devices or device plugins. If device plugins serve a resource and no
// node's devices do, no class counts.
func Serving(nodes map[string]*api.NodeInfo, catalog *dra.Catalog) demand.Serving {
	serving := demand.Serving{ByPlugins: map[corev1.ResourceName]bool{}}
	byDevices := map[corev1.ResourceName]bool{}
	if catalog.OffersAny() {
		seen := map[string]bool{}
		for _, node := range nodes {
			if key := dra.ServedKey(node.Node); key != "" && !seen[key] {
				seen[key] = true
				served := dra.Served(node.Node)
				serving.ByDevices = append(serving.ByDevices, served)
				for _, name := range served {
					byDevices[name] = true
				}
			}
			addPlugins(serving.ByPlugins, node)
		}
	}
	slices.SortFunc(serving.ByDevices, slices.Compare) // the order of nodes is random
	serving.Class = func(name corev1.ResourceName) string {
		class, found := catalog.Extended(name)
		if !found || serving.ByPlugins[name] && !byDevices[name] {
			return ""
		}
		return class
	}
	return serving
}

// Outdated returns the nodes that list an extended resource that no class of the catalog offers. The class was deleted, or its name
// has changed, after the offers were added to the nodes. Pods would run there without devices. The next session has updated nodes.
// It is nil if there are none.
func Outdated(nodes map[string]*api.NodeInfo, catalog *dra.Catalog) (outdated map[string]bool) {
	gone := map[string]bool{}
	for _, node := range nodes {
		key := dra.ServedKey(node.Node)
		if key == "" {
			continue
		}
		if _, known := gone[key]; !known {
			gone[key] = slices.ContainsFunc(dra.Served(node.Node), func(name corev1.ResourceName) bool {
				_, offered := catalog.Extended(name)
				return !offered
			})
		}
		if gone[key] {
			if outdated == nil {
				outdated = map[string]bool{}
			}
			outdated[node.Name] = true
		}
	}
	return outdated
}

// addPlugins adds the resources that device plugins serve on a node.
func addPlugins(plugins map[corev1.ResourceName]bool, node *api.NodeInfo) {
	var served []corev1.ResourceName
	for name, amount := range node.Allocatable.ScalarResources {
		if amount <= 0 || plugins[name] {
			continue
		}
		if served == nil {
			served = append(dra.Served(node.Node), "")
		}
		if !slices.Contains(served, name) {
			plugins[name] = true
		}
	}
}
