// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// compared is a PreFilter that counts how often a pod is compared with all others.
type compared struct {
	k8sframework.PreFilterPlugin
	times int
}

func (c *compared) PreFilter(context.Context, fwk.CycleState, *corev1.Pod, []fwk.NodeInfo) (*k8sframework.PreFilterResult, *fwk.Status) {
	c.times++
	return nil, nil
}

func manyLabels(n int) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := range n {
		s.MatchLabels[fmt.Sprint("k", i)] = "v"
	}
	return s
}

// selecting has what makes a plugin compare a pod by a number of labels.
var selecting = map[string]func(labels int) corev1.PodSpec{
	interpodaffinity.Name: func(labels int) corev1.PodSpec {
		terms := []corev1.PodAffinityTerm{{LabelSelector: manyLabels(labels / 2)}}
		preferred := []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: manyLabels(labels - labels/2 - 1)}}}
		return corev1.PodSpec{Affinity: &corev1.Affinity{
			PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred},
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}}
	},
	podtopologyspread.Name: func(labels int) corev1.PodSpec {
		return corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{LabelSelector: manyLabels(labels)}}}
	},
}

// TestPodsThatSelectByVeryManyLabelsTakeTurns: upstream's plugins compare a pod with all others, in each cycle.
func TestPodsThatSelectByVeryManyLabelsTakeTurns(t *testing.T) {
	var running []*corev1.Pod
	for i := range 500 {
		running = append(running, podWith(fmt.Sprint("r", i)))
	}
	nodes := []fwk.NodeInfo{k8sframework.NewNodeInfo(running...)}
	for plugin, spec := range selecting {
		t.Run(plugin, func(t *testing.T) {
			compares, effort := &compared{}, &effort{}
			upstream := &predicates.PredicatesPlugin{PrefilterPlugins: map[string]k8sframework.PreFilterPlugin{plugin: compares}}
			boundPodSelectors(upstream, effort)
			ask := func(namespace string, job, labels int) bool {
				pod := &corev1.Pod{Spec: spec(labels), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: fmt.Sprint("j", job)}}}
				before := compares.times
				_, status := upstream.PrefilterPlugins[plugin].PreFilter(t.Context(), k8sframework.NewCycleState(), pod, nodes)
				if asked := compares.times > before; asked != status.IsSuccess() {
					t.Errorf("compared: %v, told: %v", asked, status)
				}
				return status.IsSuccess()
			}
			many := func() int {
				effort.next()
				asked := 0
				for job := range 100 {
					if ask("many", job, 255) {
						asked++
					}
				}
				return asked
			}
			want := effortOfSession/(256*500/selectorsOfUnit) + 1
			if got := many(); got != want {
				t.Errorf("%d pods are compared, want %d", got, want)
			}
			if ask("few", 0, 255) || !ask("few", 1, ordinarySelectors-1) {
				t.Error("an ordinary pod waits, or another one does not")
			}
			if got := many(); got != want+1 { // another turn is that of the other namespace
				t.Errorf("%d pods are compared, want %d", got, want+1)
			}
			if !ask("few", 0, 255) {
				t.Error("the pod of another namespace has no turn")
			}
		})
	}
}

// TestPodsThatSelectNodesByVeryManyTermsTakeTurns: their affinity is parsed in each session.
func TestPodsThatSelectNodesByVeryManyTermsTakeTurns(t *testing.T) {
	parses, effort := &compared{}, &effort{}
	affinity := once{parses, effort}
	ask := func(namespace string, job, values int) bool {
		required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Values: make([]string, values-1)}}}}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: fmt.Sprint("j", job)}}}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		before := parses.times
		_, status := affinity.PreFilter(t.Context(), k8sframework.NewCycleState(), pod, nil)
		if parsed := parses.times > before; parsed != status.IsSuccess() {
			t.Errorf("parsed: %v, told: %v", parsed, status)
		}
		return status.IsSuccess()
	}
	effort.next()
	parsed := 0
	for job := range 1000 {
		if ask("many", job, 1024) {
			parsed++
		}
	}
	if want := (effortOfSession + 255) / 256; parsed != want {
		t.Errorf("the affinity of %d pods is parsed, want %d", parsed, want)
	}
	if ask("few", 0, ordinaryTerms+1) || !ask("few", 1, ordinaryTerms) {
		t.Error("an ordinary pod waits, or another one does not")
	}
	if effort.next(); !ask("few", 0, ordinaryTerms+1) {
		t.Error("the pod of another namespace has no turn")
	}
}
