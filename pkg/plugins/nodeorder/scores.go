// SPDX-License-Identifier: Apache-2.0

package nodeorder

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/imagelocality"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"

	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
)

// scores are the scores of Kubernetes that look at one node, with their weights, as in upstream's plugin. Upstream's asks those that do not matter for a pod,
// and formats messages that nobody reads, for each node.
type scores struct {
	all []score
	// states has what the scores have prepared for pods. Nodes are scored in parallel.
	states sync.Map
}

type score struct {
	k8sframework.ScorePlugin
	weight int
}

func newScores(arguments framework.Arguments, handle k8sframework.Handle) (*scores, error) {
	cpu, memory, gpu := config.ResourceSpec{Name: "cpu", Weight: 1}, config.ResourceSpec{Name: "memory", Weight: 1}, config.ResourceSpec{Name: "nvidia.com/gpu", Weight: 1}
	fit := func(strategy config.ScoringStrategyType) func() (k8sframework.Plugin, error) {
		return func() (k8sframework.Plugin, error) {
			given := &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{Type: strategy, Resources: []config.ResourceSpec{cpu, memory}}}
			return noderesources.NewFit(context.TODO(), given, handle, feature.Features{})
		}
	}
	s := &scores{}
	for _, known := range []struct {
		argument string
		weight   int
		make     func() (k8sframework.Plugin, error)
	}{
		{nodeorder.LeastRequestedWeight, 1, fit(config.LeastAllocated)},
		{nodeorder.MostRequestedWeight, 0, fit(config.MostAllocated)},
		{nodeorder.BalancedResourceWeight, 1, func() (k8sframework.Plugin, error) {
			given := &config.NodeResourcesBalancedAllocationArgs{Resources: []config.ResourceSpec{cpu, memory, gpu}}
			return noderesources.NewBalancedAllocation(context.TODO(), given, handle, feature.Features{})
		}},
		{nodeorder.NodeAffinityWeight, 2, func() (k8sframework.Plugin, error) {
			return nodeaffinity.New(context.TODO(), &config.NodeAffinityArgs{AddedAffinity: &corev1.NodeAffinity{}}, handle, feature.Features{})
		}},
		{nodeorder.ImageLocalityWeight, 1, func() (k8sframework.Plugin, error) { return imagelocality.New(context.TODO(), nil, handle) }},
	} {
		arguments.GetInt(&known.weight, known.argument)
		if known.weight == 0 {
			continue
		}
		made, err := known.make()
		if err != nil {
			return nil, fmt.Errorf("make the score for %s: %w", known.argument, err)
		}
		s.all = append(s.all, score{made.(k8sframework.ScorePlugin), known.weight})
	}
	return s, nil
}

// sum returns the score of a node for a pod.
func (s *scores) sum(pod *corev1.Pod, node fwk.NodeInfo) (sum float64, err error) {
	state := s.stateOf(pod)
	for _, score := range s.all {
		if state.GetSkipScorePlugins().Has(score.Name()) {
			continue
		}
		points, status := score.Score(context.TODO(), state, pod, node)
		if !status.IsSuccess() {
			return 0, fmt.Errorf("score %s: %w", score.Name(), status.AsError())
		}
		sum += float64(points) * float64(score.weight)
	}
	return sum, nil
}

// stateOf returns what the scores have prepared for a pod, once in a session.
func (s *scores) stateOf(pod *corev1.Pod) *k8sframework.CycleState {
	prepare := sync.OnceValue(func() *k8sframework.CycleState {
		state := k8sframework.NewCycleState()
		for _, score := range s.all {
			looks, is := score.ScorePlugin.(k8sframework.PreScorePlugin)
			if !is {
				continue
			}
			// The score returns its error again. Upstream's plugin goes on to ask for the balance of resources although that skips pods without requests.
			if looks.PreScore(context.TODO(), state, pod, nil).IsSkip() && score.Name() == nodeaffinity.Name {
				state.SetSkipScorePlugins(sets.New(nodeaffinity.Name))
			}
		}
		return state
	})
	known, _ := s.states.LoadOrStore(pod, prepare)
	return known.(func() *k8sframework.CycleState)()
}
