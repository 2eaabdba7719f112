// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/plugins/capacity"
	"github.com/devicequota/devicequota/pkg/refusals"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// Verdict describes the fate of a workload.
type Verdict string

const (
	// Runs means that the workload had its minimum before, and still has it.
	Runs Verdict = "Runs"
	// Starts means that the workload has its minimum now, and had not before.
	Starts Verdict = "Starts"
	// Waits means that the workload does not have its minimum, and had not before.
	Waits Verdict = "Waits"
	// Evicted means that the workload had its minimum before, and has lost it.
	Evicted Verdict = "Evicted"
)

// Outcome is the result of a simulation.
type Outcome struct {
	// Workloads has those that have not ended, by namespace and name.
	Workloads []Workload
	// After is the state in the end. It has no time: nothing says how long all this takes.
	After *clusterstate.State
}

// Workload is a PodGroup with its verdict.
type Workload struct {
	Namespace string `json:"namespace"`
	// Name is that of the owner of the PodGroup, such as a Job of Volcano, or that of the PodGroup if it has no owner.
	Name string `json:"name"`
	// Kind is that of the owner, or PodGroup.
	Kind string `json:"kind"`
	// Group is empty for a pod whose PodGroup does not exist.
	Group string `json:"podGroup"`
	Queue string `json:"queue"`
	// Verdict is what becomes of it.
	Verdict Verdict `json:"verdict"`
	// Pods has the pods that run in the end, by name.
	Pods []Pod `json:"pods,omitempty"`
	// Evicted has the names of the pods that are evicted.
	Evicted []string `json:"evicted,omitempty"`
	// Charged is what the workload is charged in the end.
	Charged []v1alpha1.Amount `json:"charged,omitempty"`
	// Why says why it waits, or why some of its pods do. It is nil if nothing waits.
	Why *v1alpha1.Refusal `json:"why,omitempty"`
	// Explanations have the checks that decide: of the workload, and, if it has been let in, of a pod that waits for the same cause. They are empty
	// if nobody asked for them, or if nothing waits.
	Explanations []v1alpha1.Explanation `json:"explanations,omitempty"`
}

// Pod is a pod that runs.
type Pod struct {
	Name string `json:"name"`
	Node string `json:"node"`
	// Devices are those of its claims.
	Devices []v1alpha1.DeviceID `json:"devices,omitempty"`
	// Before says that it ran before, too.
	Before bool `json:"before,omitempty"`
}

// Workload returns the workload of an owner or of a PodGroup, or nil if there is none.
func (o *Outcome) Workload(kind, namespace, name string) *Workload {
	for i := range o.Workloads {
		w := &o.Workloads[i]
		if w.Namespace == namespace && (w.Kind == kind && w.Name == name || kind == groupKind && w.Group == name) {
			return w
		}
	}
	return nil
}

// outcome compares the final state with the state before.
func (r *replay) outcome(ctx context.Context, explained func(*Workload) bool) (*Outcome, error) {
	ended, cancel := context.WithCancel(ctx)
	cancel() // sessions have ended, so there is nothing to wait for
	published, err := r.plugins.Publisher().Latest(ended)
	if err != nil {
		return nil, fmt.Errorf("the sessions have published nothing: the scheduler's configuration lacks the plugin %s, which keeps quotas", capacity.Name)
	}
	out := &Outcome{After: r.after()}
	if out.Workloads, err = r.workloads(published); err != nil {
		return nil, err
	}
	for i := range out.Workloads {
		w := &out.Workloads[i]
		if waits := w.Why != nil || w.Verdict == Waits; !waits || explained == nil || !explained(w) {
			continue
		}
		if err := r.explain(ctx, w); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// workloads returns the verdict of each workload. Sessions do not publish workloads without an existing queue. These wait.
func (r *replay) workloads(published *visibility.Published) ([]Workload, error) {
	now, err := r.pods()
	if err != nil {
		return nil, err
	}
	groups, err := r.groups()
	if err != nil {
		return nil, err
	}
	told, known := slices.Clone(published.Workloads), map[string]bool{}
	for i := range told {
		known[told[i].Namespace+"/"+told[i].Name] = true
	}
	for _, group := range groups {
		if known[group.Namespace+"/"+group.Name] || group.DeletionTimestamp != nil || group.Status.Phase == schedulingv1beta1.PodGroupCompleted {
			continue
		}
		stranded := v1alpha1.Workload{Namespace: group.Namespace, Name: group.Name, Queue: group.Spec.Queue, MinMember: group.Spec.MinMember}
		if owner := metav1.GetControllerOf(group); owner != nil {
			stranded.Owner = &v1alpha1.Object{Kind: owner.Kind, Name: owner.Name}
		}
		told = append(told, stranded)
	}
	running := map[string][]*corev1.Pod{}
	for _, pod := range now {
		if group := pod.Namespace + "/" + groupNamed(pod.Annotations); holds(pod) {
			running[group] = append(running[group], pod)
		}
	}
	devices, ran := devicesOf(published), r.ranBefore()
	var all []Workload
	for i := range told {
		group := told[i].Namespace + "/" + told[i].Name
		all = append(all, workload(&told[i], running[group], devices, ran[group]))
	}
	all = append(all, ungrouped(now, groups)...)
	slices.SortStableFunc(all, func(a, b Workload) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// devicesOf returns the devices of pods, by the UID of the pod.
func devicesOf(published *visibility.Published) map[string][]v1alpha1.DeviceID {
	devices := map[string][]v1alpha1.DeviceID{}
	for i := range published.Holders {
		h := &published.Holders[i]
		if h.Kind == "Pod" {
			devices[h.UID] = h.Devices
		}
	}
	return devices
}

// workload compares the running pods of a workload with the pods that ran before.
func workload(told *v1alpha1.Workload, running []*corev1.Pod, devices map[string][]v1alpha1.DeviceID, ran map[string]struct{}) Workload {
	w := Workload{Namespace: told.Namespace, Name: told.Name, Kind: groupKind, Group: told.Name, Queue: told.Queue, Charged: told.Charged}
	if told.Owner != nil {
		w.Name, w.Kind = told.Owner.Name, told.Owner.Kind
	}
	for _, pod := range running {
		_, already := ran[pod.Name]
		w.Pods = append(w.Pods, Pod{Name: pod.Name, Node: pod.Spec.NodeName, Devices: devices[string(pod.UID)], Before: already})
	}
	for name := range ran {
		if !slices.ContainsFunc(w.Pods, func(p Pod) bool { return p.Name == name }) {
			w.Evicted = append(w.Evicted, name)
		}
	}
	slices.Sort(w.Evicted)
	w.Verdict = verdict(int32(len(ran)), int32(len(w.Pods)), max(1, told.MinMember))
	// Refusals of pods that have left since are not a reason to wait.
	if w.Verdict == Waits || w.Verdict == Evicted || told.Pods["Pending"] > 0 {
		w.Why = told.Waits
	}
	return w
}

func verdict(before, after, least int32) Verdict {
	switch {
	case before >= least && after >= least:
		return Runs
	case before >= least:
		return Evicted
	case after >= least:
		return Starts
	}
	return Waits
}

// ungrouped returns the pods that wait because their PodGroup does not exist. No session includes them.
func ungrouped(pods []*corev1.Pod, groups []*schedulingv1beta1.PodGroup) (all []Workload) {
	exists := map[string]bool{}
	for _, group := range groups {
		exists[group.Namespace+"/"+group.Name] = true
	}
	for _, pod := range pods {
		name := groupNamed(pod.Annotations)
		ended := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if ended || pod.Spec.NodeName != "" || pod.Spec.SchedulerName != defaultScheduler || exists[pod.Namespace+"/"+name] {
			continue
		}
		all = append(all, Workload{
			Namespace: pod.Namespace, Name: pod.Name, Kind: "Pod", Queue: pod.Annotations[schedulingv1beta1.QueueNameAnnotationKey], Verdict: Waits,
			Why: &v1alpha1.Refusal{Message: refusals.PodGroupMissing{Namespace: pod.Namespace, Name: name}.Message()},
		})
	}
	return all
}
