// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/refusals"
)

const (
	// maxNodes is the maximum number of node names that are listed for one answer.
	maxNodes = 10
	// MaxAnswers bounds how many different answers of nodes, and how many reasons of pods, an explanation has.
	MaxAnswers = 20
)

// Nodes collects the answers of nodes for a pod. Nodes with the same answer are one entry.
type Nodes struct {
	snapshot *snapshot.Snapshot
	// wanted is what the pod needs on a node.
	wanted  ledger.Amounts
	answers []v1alpha1.NodesAnswer
	// places has the index of each message in answers.
	places map[string]int
}

// NewNodes starts to collect the answers of nodes for a pod.
func NewNodes(s *snapshot.Snapshot, task *api.TaskInfo) *Nodes {
	return &Nodes{snapshot: s, wanted: s.WantedOnNode(task), places: map[string]int{}}
}

// Add adds the answer of a node. The message says why the node is not suitable. It is empty if the node is suitable.
func (n *Nodes) Add(node *api.NodeInfo, message string) {
	i, known := n.places[message]
	if !known {
		i = len(n.answers)
		n.places[message] = i
		n.answers = append(n.answers, v1alpha1.NodesAnswer{Suitable: message == "", Message: message})
	}
	a := &n.answers[i]
	if a.Count++; len(a.Nodes) < maxNodes {
		a.Nodes = append(a.Nodes, node.Name)
	}
	a.Free = n.mostFree(a.Free, node)
}

// mostFree returns the maximum that nodes have free of the resources that the pod requests.
func (n *Nodes) mostFree(most []v1alpha1.Amount, node *api.NodeInfo) []v1alpha1.Amount {
	free := n.snapshot.FreeOn(node)
	for _, e := range n.wanted {
		dimension := n.snapshot.Dimensions.Dimension(e.Dimension)
		here := v1alpha1.Amount{Dimension: describe.Dimension(dimension), Amount: describe.Quantity(dimension, free.Of(e.Dimension))}
		i := slices.IndexFunc(most, func(a v1alpha1.Amount) bool { return a.Dimension == here.Dimension })
		if i < 0 {
			most = append(most, here)
		} else if most[i].Amount.Cmp(here.Amount) < 0 {
			most[i] = here
		}
	}
	return most
}

// Answers returns the answers. Suitable nodes come first, then answers of many nodes.
func (n *Nodes) Answers() []v1alpha1.NodesAnswer {
	slices.SortStableFunc(n.answers, func(a, b v1alpha1.NodesAnswer) int {
		switch {
		case a.Suitable: // all suitable nodes are one entry
			return -1
		case b.Suitable:
			return 1
		default:
			return cmp.Compare(b.Count, a.Count)
		}
	})
	return withoutRare(n.answers)
}

func otherReasons(n int) string { return fmt.Sprintf("<%d> other reasons", n) }

// withoutRare merges the last answers into one if there are too many.
func withoutRare(answers []v1alpha1.NodesAnswer) []v1alpha1.NodesAnswer {
	if len(answers) <= MaxAnswers {
		return answers
	}
	others := v1alpha1.NodesAnswer{Message: otherReasons(len(answers) - MaxAnswers + 1)}
	for _, a := range answers[MaxAnswers-1:] {
		others.Count += a.Count
	}
	return append(answers[:MaxAnswers-1:MaxAnswers-1], others)
}

// NoNode returns why no node accepts a pod, in Volcano's words if it has tried. It is nil if some node accepts the pod.
func NoNode(job *api.JobInfo, task *api.TaskInfo, nodes int, answers []v1alpha1.NodesAnswer) report.Refusal {
	if slices.ContainsFunc(answers, func(a v1alpha1.NodesAnswer) bool { return a.Suitable }) {
		return nil
	}
	if tried := job.NodesFitErrors[task.UID]; tried != nil {
		return noNode(tried.Error())
	}
	parts := make([]string, len(answers))
	for i, a := range answers {
		parts[i] = fmt.Sprintf("%d %s", a.Count, a.Message)
	}
	return noNode(fmt.Sprintf("0/%d nodes are unavailable: %s", nodes, strings.Join(parts, ", ")))
}

// noNode refuses a pod that no node accepts.
type noNode string

// Reason implements report.Refusal.
func (noNode) Reason() string { return refusals.UnschedulableReason }

// Message implements report.Refusal.
func (n noNode) Message() string { return string(n) }

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
