// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"
	"strings"
)

// placement is the order in which specs can be added to a ledger, parents first. It also holds the reasons why other specs cannot be added.
type placement struct {
	specs   []QueueSpec
	index   map[string]int
	visited []visit
	order   []int
	reasons []string
}

type visit uint8

const (
	unvisited visit = iota
	onPath
	done
)

func place(specs []QueueSpec) *placement {
	p := &placement{
		specs:   specs,
		index:   make(map[string]int, len(specs)),
		visited: make([]visit, len(specs)),
		order:   make([]int, 0, len(specs)),
		reasons: make([]string, len(specs)),
	}
	for i := range specs {
		p.index[specs[i].Name] = i
	}
	for i := range specs {
		p.walk(i)
	}
	return p
}

func (p *placement) setAside() []SetAside {
	var aside []SetAside
	for i, reason := range p.reasons {
		if reason != "" {
			aside = append(aside, SetAside{Queue: p.specs[i].Name, Reason: reason})
		}
	}
	return aside
}

// walk climbs from queue start to the top, or to a queue that is already decided. It then decides all queues on the
// way. It uses a loop, because a chain of ancestors may contain all queues.
func (p *placement) walk(start int) {
	var path []int
	reason := ""
	for i := start; ; {
		if p.visited[i] == done {
			if p.reasons[i] != "" {
				reason = fmt.Sprintf("its ancestor %s cannot be used", p.specs[i].Name)
			}
			break
		}
		if p.visited[i] == onPath {
			reason = p.markCycle(path[slices.Index(path, i):])
			break
		}
		p.visited[i] = onPath
		path = append(path, i)
		parent := p.specs[i].Parent
		if parent == "" {
			break
		}
		next, found := p.index[parent]
		if !found {
			p.reasons[i] = fmt.Sprintf("its parent %s does not exist: create that queue or change spec.parent", parent)
			reason = fmt.Sprintf("its ancestor %s cannot be used", p.specs[i].Name)
			break
		}
		i = next
	}
	for _, i := range slices.Backward(path) {
		p.visited[i] = done
		if p.reasons[i] == "" {
			p.reasons[i] = reason
		}
		if p.reasons[i] == "" {
			p.order = append(p.order, i)
		}
	}
}

// markCycle sets the reason of every queue in a cycle. It returns the reason for their descendants.
func (p *placement) markCycle(cycle []int) string {
	names := make([]string, 0, len(cycle)+1)
	for _, i := range cycle {
		names = append(names, p.specs[i].Name)
	}
	names = append(names, names[0])
	for _, i := range cycle {
		p.reasons[i] = fmt.Sprintf("it is its own ancestor (%s): change spec.parent of one of them", strings.Join(names, " > "))
	}
	return fmt.Sprintf("its ancestor %s cannot be used", names[0])
}
