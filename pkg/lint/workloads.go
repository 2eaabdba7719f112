// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// defaultQueue is the queue of workloads without a queue, as in Volcano.
const defaultQueue = "default"

// schedulerNames are the names of Volcano's scheduler.
var schedulerNames = []string{"volcano"}

// work is a workload to check.
type work struct {
	object   metav1.Object
	ref      Ref
	template *workload.Template
	// pods are the paths of the templates of each set of pods.
	pods []Path
}

// checkWorkloads finds mistakes in workloads.
func (w *world) checkWorkloads() {
	for _, object := range w.Workloads {
		accessor, err := meta.Accessor(object)
		if err != nil || metav1.GetControllerOf(accessor) != nil || ended(object) {
			continue
		}
		template, err := workload.Of(likeOneRun(object), schedulerNames)
		if template == nil {
			continue
		}
		work := &work{object: accessor, template: template, pods: podPaths(object), ref: refOf(object, accessor)}
		if err != nil {
			w.add(InvalidPodCount, work.ref, Path{"spec"}, fmt.Sprintf("Volcano cannot start the pods: %v", err))
		}
		w.checkAnnotations(work)
		w.checkPriorityClasses(work)
		w.checkPods(work)
		if template.ForVolcano || template.Queue != "" {
			w.checkQueueOf(work)
		}
	}
}

func refOf(object runtime.Object, accessor metav1.Object) Ref {
	return Ref{Kind: cmp.Or(object.GetObjectKind().GroupVersionKind().Kind, strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")), Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
}

// likeOneRun replaces a CronJob by the Job of one run, and a DaemonSet by a Deployment with one pod.
func likeOneRun(object runtime.Object) runtime.Object {
	switch o := object.(type) {
	case *batchv1.CronJob:
		return &batchv1.Job{ObjectMeta: o.ObjectMeta, Spec: o.Spec.JobTemplate.Spec}
	case *appsv1.DaemonSet:
		return &appsv1.Deployment{ObjectMeta: o.ObjectMeta, Spec: appsv1.DeploymentSpec{Template: o.Spec.Template}}
	default:
		return object
	}
}

// ended reports whether a pod or job has ended and holds nothing.
func ended(object runtime.Object) bool {
	switch o := object.(type) {
	case *corev1.Pod:
		return o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
	case *batchv1.Job:
		return o.Status.CompletionTime != nil
	default:
		return false
	}
}

// checkQueueOf finds workloads whose queue takes no pods, or can never have what they need.
func (w *world) checkQueueOf(work *work) {
	if !w.Known[Queues] {
		return
	}
	name := cmp.Or(work.template.Queue, defaultQueue)
	field := Path{"spec", "queue"}
	queue, other := w.queues[name], otherScheduler(work.template)
	switch {
	case other != "":
		w.add(NotForVolcano, work.ref, Path{"spec"}, fmt.Sprintf("It names queue <%s>, but its pods name scheduler %q, so that no quota holds for them: set spec.schedulerName of the pods to volcano", name, other))
		return
	case queue == nil && (name == quota.Root || name == defaultQueue):
		return // Volcano creates these queues
	case queue == nil:
		w.add(refusals.QueueNotFoundReason, work.ref, field, refusals.QueueMissing{Queue: name}.Message())
		return
	}
	state := cmp.Or(string(queue.Object.Status.State), "Open") // files have no status
	id, refusal := refusals.TakesPods(w.ledger, w.misplaced, name, state)
	if refusal == nil {
		w.checkNeeds(work, id)
		return
	}
	w.add(refusals.UnschedulableReason, work.ref, field, refusal.Message())
	if _, parent := refusal.(refusals.QueueHasChildren); parent {
		found := problems.Problems{}
		found.NotLeaf(name)
		for problem, message := range found {
			w.add(problem.Reason, Ref{Kind: Queues, Name: name}, Path{"spec"}, message)
		}
	}
}

// otherScheduler returns the scheduler that all pods name, empty if some are for Volcano's. Volcano's webhook writes its name into
// Volcano Jobs that name none.
func otherScheduler(template *workload.Template) string {
	name := ""
	if !template.ForVolcano {
		name = corev1.DefaultSchedulerName
	}
	for i := range template.Pods {
		named := template.Pods[i].Template.Spec.SchedulerName
		if template.ForVolcano && (named == "" || slices.Contains(schedulerNames, named)) {
			return ""
		}
		name = cmp.Or(named, name)
	}
	return name
}

// podPaths returns the paths of the templates of pods.
func podPaths(object runtime.Object) []Path {
	switch object.(type) {
	case *corev1.Pod:
		return []Path{{}}
	case *batchv1.CronJob:
		return []Path{{"spec", "jobTemplate", "spec", "template"}}
	case *batchv1.Job, *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet:
		return []Path{{"spec", "template"}}
	default:
		return nil
	}
}

// podPath returns the path of the template of a set of pods.
func (o *work) podPath(i int) Path {
	if i < len(o.pods) {
		return o.pods[i]
	}
	return Path{"spec", "tasks", fmt.Sprint(i), "template"}
}
