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

// report is the status of a workload in a member cluster, as Karmada passes it on.
type report struct {
	// ResourceTemplateGeneration is the generation on the control plane of the object that the member has. Generation is the
	// generation of the member's own object. ObservedGeneration is the one that the member's controller has seen.
	ResourceTemplateGeneration     int64
	Generation, ObservedGeneration int64

	replicas
	UpdatedReplicas, ReadyReplicas int64

	// Active is the number of active pods of a Job, or the list of active Jobs of a CronJob.
	Active json.RawMessage

	State           batchv1alpha1.JobState
	TaskStatusCount map[string]batchv1alpha1.TaskState
	Terminating     int64
}

// replicas are the fields that any kind may report.
type replicas struct {
	Replicas int64
	// AvailableReplicas plus UnavailableReplicas is the number of pods that a Deployment wants, including pods that are not made yet.
	AvailableReplicas, UnavailableReplicas int64
}

// Done reports whether a member cluster has carried out the current object: it runs at most replicas pods, and none of an older template. RawStatus
// is the last status from the member. For a Pod, a PodGroup, and kinds that are not read, Done is always true: see Shape.
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
		return t.rolledOut(&r, replicas) // Karmada omits the generation that its controller has seen
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

// OldVersionLasts reports whether pods of an old version of a kind stay after the cluster has got a later one, although no status from the cluster tells which one
// it has. A CronJob does not change the Jobs that it has started.
func OldVersionLasts(kind schema.GroupVersionKind) bool {
	return kind.GroupKind() == CronJob.GroupKind()
}

func (t *Template) rolledOut(r *report, replicas int64) bool {
	return r.ResourceTemplateGeneration == t.Generation && r.wanted() <= replicas && r.UpdatedReplicas == r.Replicas
}

// wanted returns how many pods a Deployment has or is about to make.
func (r *replicas) wanted() int64 { return max(r.Replicas, r.AvailableReplicas+r.UnavailableReplicas) }

// Replaced reports whether a member cluster that is done makes no more pods of a former template. A StatefulSet may make them until
// all of its pods are ready.
func (t *Template) Replaced(kind schema.GroupVersionKind, rawStatus []byte, replicas int64) bool {
	var r report
	if t.Halts || t.OnDelete || json.Unmarshal(rawStatus, &r) != nil {
		return false
	}
	if kind.GroupKind() == StatefulSet.GroupKind() {
		return r.UpdatedReplicas == replicas && r.ReadyReplicas == replicas
	}
	return r.UpdatedReplicas == r.wanted()
}

// tasksFit reports whether no task has more pods than the template says.
func (t *Template) tasksFit(counts map[string]batchv1alpha1.TaskState) bool {
	wanted := make(map[string]int64, len(t.Pods)) // users write thousands of tasks, and each cycle asks
	for i := range t.Pods {
		wanted[t.Pods[i].Name] += t.Pods[i].Count
	}
	for name, task := range counts {
		var live int64
		for phase, n := range task.Phase {
			if phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				live += int64(n)
			}
		}
		if live > wanted[name] {
			return false
		}
	}
	return true
}

// Reported returns the number of replicas that a member cluster reports, including replicas that it cannot make yet.
func Reported(rawStatus []byte) int64 {
	var r replicas
	if json.Unmarshal(rawStatus, &r) != nil {
		return 0
	}
	return max(0, r.wanted())
}

// Shape identifies the parts of the template that existing pods keep when the template changes. Only Volcano Jobs, Pods, and kinds that
// are not read have a shape; for the latter, it includes the number of pods. The template caches it, because each cycle asks and
// objects may have a megabyte. It is not safe for concurrent use.
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
		return "unknown" // the types have only fields that JSON supports
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]) // with 8 bytes, users could find two templates with the same sum
}
