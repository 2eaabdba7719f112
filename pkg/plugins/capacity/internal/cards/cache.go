// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Cache keeps the fleet up to date. It outlives sessions. Unchanged nodes cost a session nothing.
type Cache struct {
	// Fleet has the cards that all nodes offer. It changes only in Refresh.
	Fleet card.Fleet

	// names are the resource names that the fleet was read with.
	names  card.ResourceNames
	lister corelisters.NodeLister

	mu sync.Mutex
	// changed has the nodes that have changed since the last Refresh.
	changed map[string]bool
}

// NewCache returns a cache with an empty fleet.
func NewCache() *Cache {
	return &Cache{changed: map[string]bool{}}
}

// Start starts to watch nodes.
func (c *Cache) Start(nodes coreinformers.NodeInformer) {
	c.lister = nodes.Lister()
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.markChanged(obj.(*corev1.Node).Name) },
		UpdateFunc: func(before, after any) {
			if a, b := before.(*corev1.Node), after.(*corev1.Node); mayDiffer(a, b) {
				c.markChanged(b.Name)
			}
		},
		DeleteFunc: func(obj any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				c.markChanged(name)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch nodes, changes of cards are not noticed")
	}
	c.markAllChanged()
}

// mayDiffer reports whether two states of a node may offer different cards. A device plugin may list as many cards as DRA served before:
// then only the sources differ.
func mayDiffer(before, after *corev1.Node) bool {
	return !maps.Equal(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(dra.WithoutOffers(before).Status.Allocatable, dra.WithoutOffers(after).Status.Allocatable)
}

func (c *Cache) markChanged(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed[node] = true
}

func (c *Cache) markAllChanged() {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list nodes")
	}
	for _, node := range nodes {
		c.markChanged(node.Name)
	}
}

// Refresh updates the fleet. names are the resources that stand for cards, nil for the default rule of card.Read.
func (c *Cache) Refresh(names card.ResourceNames, reporter *report.Reporter) {
	if !slices.Equal(names, c.names) {
		c.names, c.Fleet.Given = names, names
		c.markAllChanged()
	}
	changed := c.takeChanged()
	if len(changed) == 0 {
		return
	}
	for name := range changed {
		node, err := c.lister.Get(name)
		if err != nil {
			c.Fleet.Remove(name)
			reporter.ForgetNode(name)
			continue
		}
		// Resources served by DRA are not cards of the node's labels.
		read := card.Read(dra.WithoutOffers(node), c.names)
		c.Fleet.Set(name, read)
		reporter.Node(node, read.Problems)
	}
	reporter.CardTotals(&c.Fleet)
}

func (c *Cache) takeChanged() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changed) == 0 {
		return nil // the map stays with those who mark nodes
	}
	changed := c.changed
	c.changed = map[string]bool{}
	return changed
}

// Pending reports whether a node has changed since the last Refresh.
func (c *Cache) Pending(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed[node]
}
