// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
)

// askNodes filters the nodes for a pod as the action allocate does. Nodes with the same answer are told once.
func (p *plugin) askNodes(task *api.TaskInfo) []v1alpha1.NodesAnswer {
	if err := p.session.PrePredicateFn(task); err != nil {
		return []v1alpha1.NodesAnswer{{Count: int32(len(p.session.NodeList)), Message: err.Error()}}
	}
	nodes := explain.NewNodes(p.snapshot, task)
	for _, node := range p.session.NodeList {
		nodes.Add(node, p.askNode(task, node))
	}
	return nodes.Answers()
}

// askNode says why a node is not suitable for a pod; nothing if it is.
func (p *plugin) askNode(task *api.TaskInfo, node *api.NodeInfo) string {
	if enough, short := task.InitResreq.LessEqualWithResourcesName(node.FutureIdle(), api.Zero); !enough {
		return "Insufficient " + strings.Join(short, ", ")
	}
	err := p.session.PredicateForAllocateAction(task, node)
	if err == nil {
		return ""
	}
	var fit *api.FitError
	if errors.As(err, &fit) {
		if reasons := fit.Reasons(); len(reasons) > 0 {
			return strings.Join(reasons, "; ")
		}
	}
	return err.Error()
}
