// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Places has the nodes of a session, and where the cards and devices are.
type Places struct {
	Nodes []*api.NodeInfo
	Fleet *card.Fleet
	// Devices returns where the devices of a class are. It is nil if the scheduler does not allocate devices.
	Devices func(class string) (dra.Supplies, error)
}

// total counts in Volcano's units: bytes for memory, pods, and thousandths of all else.
type total struct{ all, used, free, largest float64 }

func (t *total) add(all, used, free float64, node bool) {
	t.all, t.used, t.free = t.all+all, t.used+used, t.free+max(0, free)
	if node {
		t.largest = max(t.largest, free)
	}
}

// Cluster is what is known of the totals of the cluster.
type Cluster struct {
	Totals []v1alpha1.Total
	// waiting are the classes whose devices are still to be counted.
	waiting []string
	at      time.Time
}

// mostTime is how long one session counts devices. To look at all devices for all classes may take seconds: other sessions go on.
const mostTime = 20 * time.Millisecond

// Count brings up to date what is older than an age: what the cluster has of each DeviceClass, card, and counted resource, without those that it
// has none of. It reports whether something has been counted.
func (s *Session) Count(c *Cluster, age time.Duration) bool {
	due := len(c.waiting) == 0
	if due && !c.at.IsZero() && s.Time.Sub(c.at) < age {
		return false
	}
	c.Totals = slices.Clone(c.Totals) // the last ones may have been published
	if due {
		c.at, c.waiting = s.Time, s.classes()
		c.Totals = append(slices.DeleteFunc(c.Totals, func(t v1alpha1.Total) bool {
			return t.Kind != v1alpha1.Device || !slices.Contains(c.waiting, t.Name)
		}), s.resourcesAndCards()...)
	}
	for began := time.Now(); len(c.waiting) > 0 && time.Since(began) < mostTime; c.waiting = c.waiting[1:] {
		class := c.waiting[0]
		c.Totals = slices.DeleteFunc(c.Totals, func(t v1alpha1.Total) bool { return t.Kind == v1alpha1.Device && t.Name == class })
		c.Totals = s.Places.devices(class).appendTo(c.Totals, v1alpha1.Device, class)
	}
	slices.SortFunc(c.Totals, func(a, b v1alpha1.Total) int { return CompareDimensions(a.Dimension, b.Dimension) })
	return true
}

func (s *Session) classes() []string {
	if s.Places.Devices == nil || s.Snapshot.Catalog == nil {
		return nil
	}
	return slices.Collect(s.Snapshot.Catalog.Classes)
}

func (s *Session) resourcesAndCards() []v1alpha1.Total {
	var all []v1alpha1.Total
	for o := range ledger.Ordinal(s.Snapshot.Dimensions.Len()) {
		if d := s.Snapshot.Dimensions.Dimension(o); d.Kind == ledger.Resource && !s.Places.Fleet.IsCard(corev1.ResourceName(d.Name)) {
			all = s.Places.resource(d.Name).appendTo(all, v1alpha1.Resource, d.Name)
		}
	}
	for _, name := range s.Places.Fleet.Names() {
		all = s.Places.card(name).appendTo(all, v1alpha1.Card, name)
	}
	return all
}

func (p *Places) resource(name string) total {
	var sum total
	for _, node := range p.Nodes {
		sum.addNode(node, corev1.ResourceName(name))
	}
	return sum
}

func (p *Places) card(name string) total {
	var sum total
	resources := p.Fleet.ResourcesOf(name)
	for _, node := range p.Nodes {
		for _, resource := range resources {
			if offered, found := p.Fleet.Node(node.Name).Of(resource); found && offered == name {
				sum.addNode(node, resource)
			}
		}
	}
	return sum
}

// addNode adds what a node has of a resource. Nothing is free on a node that is closed for new pods.
func (t *total) addNode(node *api.NodeInfo, name corev1.ResourceName) {
	free := node.Idle.Get(name)
	if isClosed(node) {
		free = 0
	}
	t.add(node.Allocatable.Get(name), node.Used.Get(name), free, true)
}

func isClosed(node *api.NodeInfo) bool { return node.Node != nil && node.Node.Spec.Unschedulable }

func (p *Places) devices(class string) total {
	supplies, err := p.Devices(class)
	if err != nil {
		klog.ErrorS(err, "Failed to count devices", "class", class)
	}
	var sum total
	add := func(there dra.Supply, node, closed bool) {
		free := there.Free
		if closed {
			free = 0
		}
		sum.add(1000*float64(there.Total), 1000*float64(there.Total-there.Free-there.Tainted), 1000*float64(free), node)
	}
	open := map[string]bool{}
	for _, node := range p.Nodes {
		open[node.Name] = !isClosed(node)
	}
	for node, there := range supplies.OnNode {
		add(there, true, !open[node])
	}
	for _, there := range supplies.InPool {
		add(there, false, false)
	}
	return sum
}

func (t total) appendTo(all []v1alpha1.Total, kind v1alpha1.Kind, name string) []v1alpha1.Total {
	if t.all <= 0 {
		return all
	}
	quantity := func(value float64) resource.Quantity {
		switch corev1.ResourceName(name) {
		case corev1.ResourceMemory:
			return *resource.NewQuantity(int64(value), resource.BinarySI)
		case corev1.ResourcePods:
			return *resource.NewQuantity(int64(value), resource.DecimalSI)
		default:
			return *resource.NewMilliQuantity(int64(value), resource.DecimalSI)
		}
	}
	return append(all, v1alpha1.Total{
		Dimension: v1alpha1.Dimension{Kind: kind, Name: name},
		Total:     quantity(t.all), Used: quantity(t.used), Free: quantity(t.free), LargestFree: quantity(t.largest),
	})
}
