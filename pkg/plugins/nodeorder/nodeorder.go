// SPDX-License-Identifier: Apache-2.0

// Package nodeorder is upstream's plugin nodeorder, which parses the preferred node affinity of a pod once in a session, and spreads pods only if
// they have topologySpreadConstraints.
package nodeorder

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = nodeorder.PluginName

// New returns the plugin. It is a framework.PluginBuilder.
func New(arguments framework.Arguments) framework.Plugin {
	return &parsing{Plugin: nodeorder.New(arguments)}
}

// parsing is upstream's plugin with a PreScore of node affinity. Without it, Kubernetes' score parses the affinity for each node. A long affinity takes
// milliseconds.
type parsing struct{ framework.Plugin }

// OnSessionOpen implements framework.Plugin.
func (p *parsing) OnSessionOpen(ssn *framework.Session) {
	p.Plugin.OnSessionOpen(ssn)
	upstream, ok := p.Plugin.(*nodeorder.NodeOrderPlugin)
	if !ok {
		return
	}
	affinity, err := nodeaffinity.New(context.TODO(), &config.NodeAffinityArgs{AddedAffinity: &corev1.NodeAffinity{}}, upstream.Handle, feature.Features{})
	if err != nil {
		klog.ErrorS(err, "Node affinity is parsed for each node")
		return
	}
	spreadAsAsked(upstream)
	states := &states{affinity: affinity.(k8sframework.PreScorePlugin)}
	ssn.AddNodeOrderFn(Name, func(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
		return upstream.NodeOrderFn(task, node, ssn.NodeMap[node.Name], states.of(task.Pod))
	})
}

// spreadAsAsked leaves out Kubernetes' default constraints. For them, each Service of the namespace would be read for each pod, and the selectors of those that
// select the pod merged, in a time that grows with the square of their labels: users could make each cycle take seconds.
func spreadAsAsked(upstream *nodeorder.NodeOrderPlugin) {
	if upstream.ScorePlugins[podtopologyspread.Name] == nil {
		return
	}
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	spread, err := podtopologyspread.New(context.TODO(), &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}, upstream.Handle, features)
	if err != nil {
		klog.ErrorS(err, "Pods are spread by the Services that select them")
		return
	}
	upstream.ScorePlugins[podtopologyspread.Name] = spread.(*podtopologyspread.PodTopologySpread)
}

// states has the parsed affinity of pods. Nodes are scored in parallel.
type states struct {
	affinity k8sframework.PreScorePlugin
	known    sync.Map
}

func (s *states) of(pod *corev1.Pod) *k8sframework.CycleState {
	parse := sync.OnceValue(func() *k8sframework.CycleState {
		state := k8sframework.NewCycleState()
		s.affinity.PreScore(context.TODO(), state, pod, nil) // Score returns its error again
		return state
	})
	known, _ := s.known.LoadOrStore(pod, parse)
	return known.(func() *k8sframework.CycleState)()
}
