// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// selection holds the choices of the user.
type selection struct {
	// queue selects a queue and its descendants.
	queue string
	// dimensions selects dimensions by name. The name of a DeviceClass selects its capacities, too.
	dimensions []string
	// all shows dimensions without a quota, too.
	all bool
}

// of returns the selected queues and figures.
func (s selection) of(queues *v1alpha1.QueueList) (*v1alpha1.QueueList, error) {
	selected := *queues
	selected.Items = nil
	below := map[string]bool{}
	for i := range queues.Items {
		queue := &queues.Items[i]
		if s.queue == "" || queue.Name == s.queue || below[queue.Parent] && queue.Parent != "" {
			below[queue.Name] = true
			selected.Items = append(selected.Items, *queue)
		}
	}
	if s.queue != "" && len(selected.Items) == 0 {
		return nil, fmt.Errorf("queue %q does not exist, or the scheduler has not read it yet: see kubectl get queues", s.queue)
	}
	selected.Cluster = nil
	limited := s.limited(selected.Items)
	shows := func(queue string, d v1alpha1.Dimension) bool {
		return s.wants(d) && (s.all || len(s.dimensions) > 0 || limited[place{queue, d}])
	}
	for _, total := range queues.Cluster {
		if s.queue == "" && shows("", total.Dimension) {
			selected.Cluster = append(selected.Cluster, total)
		}
	}
	for i := range selected.Items {
		queue := &selected.Items[i]
		queue.Figures = slices.DeleteFunc(slices.Clone(queue.Figures), func(f v1alpha1.Figures) bool { return !shows(queue.Name, f.Dimension) })
	}
	return &selected, nil
}

// place is a dimension of a queue.
type place struct {
	queue     string
	dimension v1alpha1.Dimension
}

// limited returns the places where a quota of the queue, of an ancestor, or of a descendant applies.
func (s selection) limited(queues []v1alpha1.Queue) map[place]bool {
	limited := map[place]bool{}
	for i := len(queues) - 1; i >= 0; i-- { // children before their parents
		queue := &queues[i]
		for _, f := range queue.Figures {
			here := place{queue.Name, f.Dimension}
			if limited[here] || f.Capability != nil || f.Deserved != nil || f.Guarantee != nil || f.LimitedBy != "" {
				limited[here] = true
				limited[place{queue.Parent, f.Dimension}] = true
			}
		}
	}
	return limited
}

func (s selection) wants(d v1alpha1.Dimension) bool {
	return len(s.dimensions) == 0 || slices.ContainsFunc(s.dimensions, d.Named)
}
