// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// report is what a member cluster reports of a workload, as Karmada passes it on.
type report struct {
	// ResourceTemplateGeneration is the generation of the object on the control plane that the member has. Generation is that of the
	// object in the member, and ObservedGeneration the one that its controller has seen.
	ResourceTemplateGeneration     int64
	Generation, ObservedGeneration int64

	replicas
	UpdatedReplicas, ReadyReplicas int64

	// Active is a number of pods of a Job, and the Jobs of a CronJob.
	Active json.RawMessage

	State           batchv1alpha1.JobState
	TaskStatusCount map[string]batchv1alpha1.TaskState
	Terminating     int64
}

// replicas are what any kind may report.
type replicas struct {
	Replicas int64
	// AvailableReplicas and UnavailableReplicas are together how many pods a Deployment wants, although it may not have made them yet.
	AvailableReplicas, UnavailableReplicas int64
}

// Done reports whether a member cluster has done what the object says now: it runs no more than so many replicas, and none of an
// older template. RawStatus is what the member reported last. A Pod never runs less, and of kinds that are not read nobody knows: see
// Shape.
func (t *Template) Done(kind schema.GroupVersionKind, rawStatus []byte, replicas int64) bool {
	if t.Fallback || kind.GroupKind() == Pod.GroupKind() || kind.GroupKind() == PodGroup.GroupKind() {
		return true
	}
	var r report
	if len(rawStatus) == 0 || json.Unmarshal(rawStatus, &r) != nil {
		return false
	}
	switch kind.GroupKind() {
	case Deployment.GroupKind():
		return r.ObservedGeneration >= r.Generation && t.rolledOut(&r, replicas)
	case StatefulSet.GroupKind():
		return t.rolledOut(&r, replicas) // Karmada leaves out which generation its controller has seen
	case Job.GroupKind():
		var active int64
		return r.Active == nil || json.Unmarshal(r.Active, &active) == nil && active <= replicas
	case CronJob.GroupKind():
		var active []corev1.ObjectReference
		return r.Active == nil || json.Unmarshal(r.Active, &active) == nil && len(active) == 0
	case VolcanoJob.GroupKind():
		return r.State.Phase != "" && r.Terminating == 0 && t.tasksFit(r.TaskStatusCount)
	}
	return false
}

func (t *Template) rolledOut(r *report, replicas int64) bool {
	return r.ResourceTemplateGeneration == t.Generation && r.wanted() <= replicas && r.UpdatedReplicas == r.Replicas
}

// wanted returns how many pods a Deployment has, or is about to make.
func (r *replicas) wanted() int64 { return max(r.Replicas, r.AvailableReplicas+r.UnavailableReplicas) }

// Replaced reports whether a member cluster that has done what the object says makes no pods of a former template any more. A StatefulSet
// may until all of them are ready.
func (t *Template) Replaced(kind schema.GroupVersionKind, rawStatus []byte, replicas int64) bool {
	var r report
	if t.Halts || json.Unmarshal(rawStatus, &r) != nil {
		return false
	}
	if kind.GroupKind() == StatefulSet.GroupKind() {
		return r.UpdatedReplicas == replicas && r.ReadyReplicas == replicas
	}
	return r.UpdatedReplicas == r.wanted()
}

// tasksFit reports whether no task has more pods than the template says.
func (t *Template) tasksFit(counts map[string]batchv1alpha1.TaskState) bool {
	for name, task := range counts {
		var live int64
		for phase, n := range task.Phase {
			if phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				live += int64(n)
			}
		}
		for i := range t.Pods {
			if t.Pods[i].Name == name {
				live -= t.Pods[i].Count
			}
		}
		if live > 0 {
			return false
		}
	}
	return true
}

// Reported returns how many replicas a member cluster reports, zero if it reports none. Those that it cannot make yet count, too.
func Reported(rawStatus []byte) int64 {
	var r replicas
	if json.Unmarshal(rawStatus, &r) != nil {
		return 0
	}
	return max(0, r.wanted())
}

// Shape identifies what pods of a workload keep of the template that they were made from, whatever the template becomes later: those
// of a Volcano Job, and a Pod. Of kinds that are not read, it also has how many there are. It is empty for other kinds. The template
// remembers it, because each cycle asks, and objects may have a megabyte. Only one goroutine may ask.
func (t *Template) Shape() string {
	if t.shape == "" && (t.Fallback || t.keepsTemplate) {
		t.shape = t.makeShape()
	}
	return t.shape
}

func (t *Template) makeShape() string {
	pods := t.Pods
	if !t.Fallback {
		pods = make([]PodSet, len(t.Pods))
		for i := range t.Pods {
			pods[i] = PodSet{Name: t.Pods[i].Name, Template: t.Pods[i].Template}
		}
	}
	text, err := json.Marshal(pods)
	if err != nil {
		return "unknown" // the types have nothing that JSON lacks
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]) // of 8 bytes, users could find two templates with the same
}
