// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"slices"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation"
)

// Answer is printed by the command.
type Answer struct {
	// Tried has the workloads of the files.
	Tried []simulation.Workload `json:"tried,omitempty"`
	// Others has the workloads to which something else happens than without what is tried.
	Others []Difference `json:"others,omitempty"`
	// Next has, if nothing is tried, the workloads that start, are evicted, or wait, or of which pods do.
	Next []simulation.Workload `json:"next,omitempty"`
	// Ignored names the objects of the files that the scheduler does not read.
	Ignored []string `json:"ignored,omitempty"`
	// Unread says what of the cluster could not be read, so that the answer may be wrong.
	Unread []string `json:"unread,omitempty"`
}

// Difference is a workload with two different verdicts.
type Difference struct {
	simulation.Workload `json:",inline"`
	// Without is what happens to it without what is tried.
	Without simulation.Verdict `json:"without"`
	// PodsWithout is how many of its pods run then.
	PodsWithout int `json:"podsWithout"`
}

// newAnswer compares two outcomes.
func newAnswer(state *clusterstate.State, without, with *simulation.Outcome, tried []clusterstate.Object) *Answer {
	answer := &Answer{Unread: state.Unread}
	for i := range with.Workloads {
		w := &with.Workloads[i]
		if isTried(w, tried) {
			answer.Tried = append(answer.Tried, *w)
			continue
		}
		answer.Tried = append(answer.Tried, triedPods(w, tried)...)
		if differs(w, without) {
			before := otherwise(w, without)
			answer.Others = append(answer.Others, Difference{Workload: *w, Without: before.Verdict, PodsWithout: len(before.Pods)})
		}
	}
	return answer
}

// isTried reports whether a workload comes from one of the objects.
func isTried(w *simulation.Workload, tried []clusterstate.Object) bool {
	return slices.ContainsFunc(tried, func(o clusterstate.Object) bool {
		return o.GetKind() == w.Kind && o.GetNamespace() == w.Namespace && (o.GetName() == w.Name || o.GetKind() == "PodGroup" && o.GetName() == w.Group)
	})
}

// triedPods returns the outcome of pods in the files that join a workload outside the files.
func triedPods(w *simulation.Workload, tried []clusterstate.Object) (all []simulation.Workload) {
	for i := range tried {
		o := &tried[i]
		if o.GetKind() != "Pod" || o.GetNamespace() != w.Namespace || w.Group == "" || o.GetAnnotations()[schedulingv1beta1.KubeGroupNameAnnotationKey] != w.Group {
			continue
		}
		pod := simulation.Workload{
			Namespace: w.Namespace, Name: o.GetName(), Kind: o.GetKind(), Group: w.Group, Queue: w.Queue, Verdict: simulation.Waits, Why: w.Why, Explanations: w.Explanations,
		}
		if at := slices.IndexFunc(w.Pods, func(p simulation.Pod) bool { return p.Name == pod.Name }); at >= 0 {
			pod.Verdict, pod.Why, pod.Explanations, pod.Pods = simulation.Starts, nil, nil, w.Pods[at:at+1]
		}
		all = append(all, pod)
	}
	return all
}

// otherwise returns the workload in the other outcome. A workload that the outcome lacks waits.
func otherwise(w *simulation.Workload, without *simulation.Outcome) *simulation.Workload {
	if before := without.Workload(w.Kind, w.Namespace, w.Name); before != nil {
		return before
	}
	return &simulation.Workload{Verdict: simulation.Waits}
}

func differs(w *simulation.Workload, without *simulation.Outcome) bool {
	before := otherwise(w, without)
	return before.Verdict != w.Verdict || len(before.Pods) != len(w.Pods)
}

// next returns the workloads that change or wait.
func next(now *simulation.Outcome) []simulation.Workload {
	return slices.DeleteFunc(slices.Clone(now.Workloads), func(w simulation.Workload) bool {
		return w.Verdict == simulation.Runs && w.Why == nil && len(w.Evicted) == 0 && !slices.ContainsFunc(w.Pods, func(p simulation.Pod) bool { return !p.Before })
	})
}

// exit returns the error with the exit code of an answer, or nil if everything that was tried starts.
func (a *Answer) exit() error {
	if slices.ContainsFunc(a.Tried, func(w simulation.Workload) bool {
		return w.Verdict == simulation.Waits || w.Verdict == simulation.Evicted
	}) {
		return &cli.ExitError{Code: waitsCode, Err: errors.New("not everything would start")}
	}
	return nil
}
