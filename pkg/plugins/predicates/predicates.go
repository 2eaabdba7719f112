// SPDX-License-Identifier: Apache-2.0

// Package predicates is upstream's plugin predicates, which leaves devices to another plugin if the scheduler's
// configuration has one that allocates devices. What users write about their volumes does not make it slow, and does not keep the pods of others from nodes.
package predicates

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = predicates.PluginName

// NewBuilder returns the builder to register under Name. Allocators are the names of the plugins that allocate
// devices.
func NewBuilder(allocators ...string) framework.PluginBuilder {
	volumes := &effort{}
	return func(arguments framework.Arguments) framework.Plugin {
		return &withoutDevices{Plugin: predicates.New(arguments), arguments: arguments, allocators: allocators, effort: volumes}
	}
}

// withoutDevices is upstream's plugin. If another plugin allocates devices, upstream's is made anew without
// devices.
type withoutDevices struct {
	framework.Plugin
	arguments  framework.Arguments
	allocators []string
	// effort outlives sessions.
	effort *effort
	// volumes is nil if no volumes are bound.
	volumes *volumes
}

// OnSessionOpen implements framework.Plugin.
func (w *withoutDevices) OnSessionOpen(ssn *framework.Session) {
	if LeavesDevicesTo(ssn.Tiers, w.allocators...) {
		arguments := framework.Arguments{}
		maps.Copy(arguments, w.arguments)
		arguments[predicates.DynamicResourceAllocationEnable] = false
		w.Plugin = predicates.New(arguments)
	}
	w.Plugin.OnSessionOpen(ssn)
	if upstream, ok := w.Plugin.(*predicates.PredicatesPlugin); ok {
		w.effort.next()
		prefilterNodeAffinity(upstream, w.effort)
		boundVolumeClaims(ssn, upstream, w.effort)
		boundPodSelectors(upstream, w.effort)
		countLimitedVolumes(ssn, upstream)
		opened.Store(ssn.UID, upstream)
		w.volumes = keepVolumes(ssn, upstream)
	}
}

// OnSessionClose implements framework.Plugin.
func (w *withoutDevices) OnSessionClose(ssn *framework.Session) {
	opened.Delete(ssn.UID)
	if w.volumes != nil {
		w.volumes.close()
	}
	w.Plugin.OnSessionClose(ssn)
}

// opened has upstream's plugins of the open sessions, by UID. A session does not give access to its plugins.
var opened sync.Map

// Without makes the plugin of a session judge a node as if some pods had left it, until the returned function is called: their host ports are
// free, nothing is averse to them, and other pods may take their places. Pods that the node does not have are ignored.
func Without(ssn *framework.Session, node string, pods []*corev1.Pod) (undo func()) {
	plugin, found := opened.Load(ssn.UID)
	if !found || len(pods) == 0 {
		return func() {}
	}
	info, err := plugin.(*predicates.PredicatesPlugin).Handle.SnapshotSharedLister().NodeInfos().Get(node)
	if err != nil {
		return func() {}
	}
	var hidden []fwk.PodInfo
	for _, there := range slices.Clone(info.GetPods()) {
		leaves := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == there.GetPod().UID })
		if leaves && info.RemovePod(klog.Background(), there.GetPod()) == nil {
			hidden = append(hidden, there)
		}
	}
	return func() {
		for _, pod := range hidden {
			info.AddPodInfo(pod)
		}
	}
}

// prefilterNodeAffinity lets the affinity and the node selector of a pod be parsed once in a session. Upstream's plugin leaves PreFilter out, so that Filter
// parses them for each node. A long affinity takes milliseconds.
func prefilterNodeAffinity(upstream *predicates.PredicatesPlugin, effort *effort) {
	if affinity, ok := upstream.FilterPlugins[nodeaffinity.Name].(k8sframework.PreFilterPlugin); ok {
		upstream.PrefilterPlugins[nodeaffinity.Name] = once{affinity, effort}
	}
	if affinity, stable := upstream.StableFilterPlugins[nodeaffinity.Name]; stable {
		upstream.StableFilterPlugins[nodeaffinity.Name] = skipping{affinity}
	}
}

// skipping is a Filter of node affinity that asks for nothing if PreFilter has found that the pod does not. Upstream's plugin asks, and the Filter makes an error
// for each node, because PreFilter has left it nothing.
type skipping struct{ k8sframework.FilterPlugin }

func (s skipping) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if state.GetSkipFilterPlugins().Has(nodeaffinity.Name) {
		return nil
	}
	return s.FilterPlugin.Filter(ctx, state, pod, node)
}

// once is a PreFilter of node affinity that does not parse again for other actions of the session. The jobs of pods with a long affinity take turns.
type once struct {
	k8sframework.PreFilterPlugin
	effort *effort
}

func (o once) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*k8sframework.PreFilterResult, *fwk.Status) {
	if _, err := state.Read("PreFilter" + nodeaffinity.Name); err == nil {
		return nil, nil
	}
	if terms := nodeSelectors(&pod.Spec); terms > ordinaryTerms {
		job := jobOf(pod)
		if !o.effort.may(pod.Namespace, job) {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
				"the pod selects nodes by %d expressions and values, and waits for its turn: those with up to %d do not wait", terms, ordinaryTerms))
		}
		o.effort.spend(job, terms/termsOfUnit)
	}
	return o.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
}

var _ framework.BindContextHandler = &withoutDevices{}

// SetupBindContextExtension implements framework.BindContextHandler. Without it, upstream's plugin does not find what
// it needs to bind volumes.
func (w *withoutDevices) SetupBindContextExtension(state *k8sframework.CycleState, bind *cache.BindContext) {
	if handler, ok := w.Plugin.(framework.BindContextHandler); ok {
		handler.SetupBindContextExtension(state, bind)
	}
}

// LeavesDevicesTo reports whether the plugins of a session have one of the allocators and ask, by the argument
// of upstream's plugin, for the allocation of devices.
func LeavesDevicesTo(tiers []conf.Tier, allocators ...string) bool {
	used, enabled := false, false
	for _, tier := range tiers {
		for _, plugin := range tier.Plugins {
			if plugin.Name == Name {
				framework.Arguments(plugin.Arguments).GetBool(&enabled, predicates.DynamicResourceAllocationEnable)
			}
			for _, allocator := range allocators {
				used = used || plugin.Name == allocator
			}
		}
	}
	return used && enabled
}

// OneNode reports, after PrePredicate of a pod, whether Predicate looks only at the node and at what of the pod's spec is not about volumes.
func OneNode(ssn *framework.Session, task *api.TaskInfo) bool {
	plugin, found := opened.Load(ssn.UID)
	if !found {
		return true
	}
	skipped := ssn.GetCycleState(task.UID).GetSkipFilterPlugins()
	for _, name := range []string{interpodaffinity.Name, podtopologyspread.Name} {
		if _, used := plugin.(*predicates.PredicatesPlugin).FilterPlugins[name]; used && !skipped.Has(name) {
			return false
		}
	}
	return true
}
