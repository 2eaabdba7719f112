// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// askNodes filters the nodes for a pod, as the action allocate does. Nodes with the same answer are grouped.
func (s *Session) askNodes(task *api.TaskInfo) []v1alpha1.NodesAnswer {
	if err := s.Volcano.PrePredicateFn(task); err != nil {
		return []v1alpha1.NodesAnswer{{Count: int32(len(s.Volcano.NodeList)), Message: err.Error()}}
	}
	nodes := NewNodes(s.Snapshot, task)
	for _, node := range s.Volcano.NodeList {
		nodes.Add(node, s.askNode(task, node))
	}
	return nodes.Answers()
}

// askNode returns why a node is not suitable for a pod. It is empty if the node is suitable.
func (s *Session) askNode(task *api.TaskInfo, node *api.NodeInfo) string {
	if enough, short := task.InitResreq.LessEqualWithResourcesName(node.FutureIdle(), api.Zero); !enough {
		return "Insufficient " + strings.Join(short, ", ")
	}
	err := s.Volcano.PredicateForAllocateAction(task, node)
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
