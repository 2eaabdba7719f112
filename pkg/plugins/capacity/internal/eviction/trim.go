// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/victims"
)

// maxReplays is the number of replays for a job.
const maxReplays = 4096

// trim lets victims stay that are not needed in the end. Each step needed its victims at first. Later steps may have made more
// room than they need, on the same node or in a quota. It reports whether the plan is still complete.
func (p *planning) trim() bool {
	var evicted []int
	for _, step := range p.steps {
		evicted = append(evicted, step.set...)
	}
	if len(p.steps) < 2 || len(evicted) < 2 {
		return true
	}
	slices.SortFunc(evicted, func(a, b int) int { return victims.CompareUnits(&p.costs[b], &p.costs[a]) })
	tries := p.replays / len(evicted)
	nodes := p.nodesToReplay(tries / len(p.steps))
	if len(nodes) == 0 {
		return true
	}
	p.steps[0].short = p.lacked() // because the victims of all steps go first
	for _, i := range slices.Clone(evicted) {
		before, left := p.steps, tries
		p.discard()
		if others := without(evicted, i); p.replay(before, others, nodes, &left) {
			evicted = others
			continue
		}
		p.discard()
		if !p.redo(before) {
			return false
		}
	}
	return true
}

// lacked returns what the pods lacked in all dimensions.
func (p *planning) lacked() ledger.Amounts {
	var all ledger.Amounts
	for _, step := range p.steps {
		for _, e := range step.short {
			if all.Of(e.Dimension).Sign() == 0 {
				all = append(all, e)
			}
		}
	}
	return all
}

func without(set []int, i int) []int {
	return slices.DeleteFunc(slices.Clone(set), func(other int) bool { return other == i })
}

// nodesToReplay returns all possible nodes for pods of the plan. If these are too many, or not known, it returns the nodes that the plan uses, or none.
func (p *planning) nodesToReplay(most int) []*api.NodeInfo {
	var all, used []*api.NodeInfo
	for _, places := range p.roles {
		for _, node := range places.nodes {
			if !slices.Contains(all, node) {
				all = append(all, node)
			}
		}
		if len(all) > most {
			break
		}
	}
	if len(all) > 0 && len(all) <= most {
		return all
	}
	for _, step := range p.steps {
		if !slices.Contains(used, step.node) {
			used = append(used, step.node)
		}
	}
	if len(used) <= most {
		return used
	}
	return nil
}

// replay first evicts units, and then places the pods of steps without any other victim. tries is the remaining number of attempts.
func (p *planning) replay(steps []step, evicted []int, nodes []*api.NodeInfo, tries *int) bool {
	if len(steps) == 0 {
		return true
	}
	before := steps[0]
	for _, node := range append([]*api.NodeInfo{before.node}, nodes...) {
		if *tries--; *tries < 0 {
			return false
		}
		if !before.domain.Has(node.Name) || !p.fits(before.task, node, evicted) || !p.take(step{task: before.task, node: node, domain: before.domain, set: evicted, short: before.short}) {
			continue
		}
		if p.replay(steps[1:], nil, nodes, tries) {
			return true
		}
		p.undo(len(p.steps) - 1)
	}
	return false
}

// fits reports whether a pod fits on a node without these units.
func (p *planning) fits(task *api.TaskInfo, node *api.NodeInfo, set []int) bool {
	pod, err := p.Snapshot.PodOf(task)
	if err != nil || p.prepare(task) != nil {
		return false
	}
	return p.ask(task, pod, node).enough(set)
}

// redo repeats discarded steps.
func (p *planning) redo(steps []step) bool {
	for _, step := range steps {
		if !p.take(step) {
			klog.ErrorS(nil, "Failed to make room for a pod once more", "pod", klog.KObj(step.task.Pod), "node", step.node.Name)
			return false
		}
	}
	return true
}
