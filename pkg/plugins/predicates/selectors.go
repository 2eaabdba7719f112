// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

const (
	// ordinarySelectors is the number of terms, labels, and values with which a pod may select others without a look at what it costs.
	ordinarySelectors = 32
	// selectorsOfUnit is how many of them are compared with a pod for one unit of effort.
	selectorsOfUnit = 45
	// ordinaryTerms is the number of expressions and values with which a pod may select nodes without a look at what it costs, and termsOfUnit is how many of them
	// are parsed for one unit of effort.
	ordinaryTerms, termsOfUnit = 256, 4
)

// boundSelectors is a PreFilter that compares a pod with all others. If it selects them by very many labels, its job waits for a turn: a pod with as many as
// config/admission/devices.yaml allows took a tenth of a second of each cycle in a cluster with 5,000 pods, and users may have any number of them.
type boundSelectors struct {
	k8sframework.PreFilterPlugin
	effort  *effort
	selects func(*corev1.PodSpec) int
}

// boundPodSelectors leaves out what upstream's plugin does not compare.
func boundPodSelectors(upstream *predicates.PredicatesPlugin, effort *effort) {
	for name, selects := range map[string]func(*corev1.PodSpec) int{interpodaffinity.Name: affinitySelectors, podtopologyspread.Name: spreadSelectors} {
		if compares, found := upstream.PrefilterPlugins[name]; found {
			upstream.PrefilterPlugins[name] = boundSelectors{compares, effort, selects}
		}
	}
}

func (b boundSelectors) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*k8sframework.PreFilterResult, *fwk.Status) {
	if selectors := b.selects(&pod.Spec); selectors > ordinarySelectors {
		job := jobOf(pod)
		if !b.effort.may(pod.Namespace, job) {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(
				"the pod selects others by %d terms, labels, and values, and waits for its turn: those with up to %d do not wait", selectors, ordinarySelectors))
		}
		pods := 0
		for _, node := range nodes {
			pods += len(node.GetPods())
		}
		b.effort.spend(job, selectors*pods/selectorsOfUnit)
	}
	return b.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
}

// affinitySelectors counts what is compared when nodes get scores, too.
func affinitySelectors(spec *corev1.PodSpec) int {
	if spec.Affinity == nil {
		return 0
	}
	var terms []corev1.PodAffinityTerm
	var preferred []corev1.WeightedPodAffinityTerm
	if affinity := spec.Affinity.PodAffinity; affinity != nil {
		terms, preferred = append(terms, affinity.RequiredDuringSchedulingIgnoredDuringExecution...), append(preferred, affinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if averse := spec.Affinity.PodAntiAffinity; averse != nil {
		terms, preferred = append(terms, averse.RequiredDuringSchedulingIgnoredDuringExecution...), append(preferred, averse.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range preferred {
		terms = append(terms, preferred[i].PodAffinityTerm)
	}
	n := len(terms)
	for i := range terms {
		n += selectorSize(terms[i].LabelSelector) + selectorSize(terms[i].NamespaceSelector) + len(terms[i].MatchLabelKeys) + len(terms[i].MismatchLabelKeys)
	}
	return n
}

func spreadSelectors(spec *corev1.PodSpec) int {
	n := len(spec.TopologySpreadConstraints)
	for i := range spec.TopologySpreadConstraints {
		n += selectorSize(spec.TopologySpreadConstraints[i].LabelSelector) + len(spec.TopologySpreadConstraints[i].MatchLabelKeys)
	}
	return n
}

// selectorSize returns the number of labels and values by which a selector selects.
func selectorSize(selector *metav1.LabelSelector) int {
	if selector == nil {
		return 0
	}
	n := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		n += 1 + len(selector.MatchExpressions[i].Values)
	}
	return n
}

// nodeSelectors returns the number of expressions and values by which a pod selects nodes.
func nodeSelectors(spec *corev1.PodSpec) (n int) {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return 0
	}
	count := func(term *corev1.NodeSelectorTerm) {
		for _, list := range [...][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
			for i := range list {
				n += 1 + len(list[i].Values)
			}
		}
	}
	if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for i := range required.NodeSelectorTerms {
			count(&required.NodeSelectorTerms[i])
		}
	}
	for i := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		count(&spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
	}
	return n
}
