// SPDX-License-Identifier: Apache-2.0

// Package nodeorder is upstream's plugin nodeorder, which reads the requests and the preferred node affinity of a pod once in a session, and spreads pods only if
// they have topologySpreadConstraints.
package nodeorder

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = nodeorder.PluginName

// New returns the plugin. It is a framework.PluginBuilder.
func New(arguments framework.Arguments) framework.Plugin {
	return &parsing{nodeorder.New(arguments), arguments}
}

// parsing is upstream's plugin with a PreScore. Without it, Kubernetes' scores read the pod again for each node. A long affinity takes milliseconds.
type parsing struct {
	framework.Plugin
	arguments framework.Arguments
}

// OnSessionOpen implements framework.Plugin.
func (p *parsing) OnSessionOpen(ssn *framework.Session) {
	p.Plugin.OnSessionOpen(ssn)
	upstream, ok := p.Plugin.(*nodeorder.NodeOrderPlugin)
	if !ok {
		return
	}
	spreadAsAsked(upstream)
	open(ssn, upstream)
	scores, err := newScores(p.arguments, upstream.Handle)
	if err != nil {
		klog.ErrorS(err, "The spec of a pod is read again for each node")
		return
	}
	ssn.AddNodeOrderFn(Name, func(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
		return scores.sum(task.Pod, ssn.NodeMap[node.Name])
	})
}

// OnSessionClose implements framework.Plugin.
func (p *parsing) OnSessionClose(ssn *framework.Session) {
	opened.Delete(ssn.UID)
	p.Plugin.OnSessionClose(ssn)
}

// opened has the open sessions, by UID. A session does not give access to its plugins.
var opened sync.Map

// session is an open session.
type session struct {
	// affinity scores the affinity between pods. It is nil if that does not count.
	affinity k8sframework.PreScorePlugin
	// node is one of the nodes.
	node fwk.NodeInfo
	// compares says that the score of a node for its taints depends on the taints of the other nodes.
	compares bool
}

func open(ssn *framework.Session, plugin *nodeorder.NodeOrderPlugin) {
	s := &session{}
	if affinity, used := plugin.ScorePlugins[interpodaffinity.Name].(k8sframework.PreScorePlugin); used {
		s.affinity = affinity
	}
	for _, node := range ssn.NodeMap {
		s.node = node
		s.compares = s.compares || slices.ContainsFunc(node.Node().Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	}
	s.compares = s.compares && plugin.ScorePlugins[tainttoleration.Name] != nil
	opened.Store(ssn.UID, s)
}

// OneNode reports whether the score of a node, compared with those of others, depends on this node alone, for a pod without topologySpreadConstraints.
func OneNode(ssn *framework.Session, task *api.TaskInfo) bool {
	found, is := opened.Load(ssn.UID)
	if !is {
		return true
	}
	s := found.(*session)
	if s.compares || s.node == nil {
		return false
	}
	return s.affinity == nil || s.affinity.PreScore(context.TODO(), k8sframework.NewCycleState(), task.Pod, []fwk.NodeInfo{s.node}).IsSkip()
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
