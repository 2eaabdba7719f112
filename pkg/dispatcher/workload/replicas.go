// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// ofReplicas reads an object whose pods are all alike. Nil replicas mean one.
func ofReplicas(kind schema.GroupVersionKind, object metav1.Object, replicas *int32, pods *corev1.PodTemplateSpec) (*Template, error) {
	count := ptr.Deref(replicas, 1)
	t := ofAlike(kind, object, int64(count), pods)
	t.Replaces = true
	minimum, err := minimumOf(object)
	t.Pods[0].Minimum = min(minimum, t.Pods[0].Count)
	return t, errors.Join(notNegative("spec.replicas", count), err)
}

// defaultSurge is the surge in percent that is not charged. It is the default of Deployments.
const defaultSurge = 25

// ofDeployment reads a Deployment. It counts the part of its surge that exceeds the default.
func ofDeployment(d *appsv1.Deployment) (*Template, error) {
	t, err := ofReplicas(Deployment, d, d.Spec.Replicas, &d.Spec.Template)
	t.Overlaps, t.Halts = true, d.Spec.Paused
	if d.Annotations[appsv1.DeprecatedRollbackTo] != "" {
		err = errors.Join(err, fmt.Errorf("its annotation %s makes clusters return to a template that it had before, and that nobody knows here: "+
			"remove it, and write that template into the object", appsv1.DeprecatedRollbackTo))
	}
	update := d.Spec.Strategy.RollingUpdate
	if update == nil || update.MaxSurge == nil || err != nil {
		return t, err
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(update.MaxSurge, 100, true)
	if surge < 0 || surge > math.MaxInt32 { // a percentage of any length is valid, and may overflow
		surge = math.MaxInt32
	}
	if update.MaxSurge.Type == intstr.Int {
		t.Surge = int64(surge)
	} else {
		t.SurgePercent = int64(surge)
	}
	t.Surged = t.SurgeBeyond(0, 1)
	t.Pods[0].Count += t.Surged
	return t, err
}

// ofStatefulSet reads a StatefulSet. Pods below its partition are made from a former template.
func ofStatefulSet(set *appsv1.StatefulSet) (*Template, error) {
	t, err := ofReplicas(StatefulSet, set, set.Spec.Replicas, &set.Spec.Template)
	if set.Spec.Ordinals != nil {
		t.Overlaps, t.Start = true, set.Spec.Ordinals.Start // pods with other names may replace its pods
	}
	update := set.Spec.UpdateStrategy.RollingUpdate
	t.Halts = update != nil && ptr.Deref(update.Partition, 0) > 0
	t.OnDelete = set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	return t, err
}

// MaxSurge returns how many pods more than a number of replicas a Deployment may have while it replaces them.
func (t *Template) MaxSurge(replicas int64) int64 {
	return t.Surge + percentOf(replicas, max(defaultSurge, t.SurgePercent))
}

// percentOf returns a percentage of a number of replicas, rounded up.
func percentOf(replicas, percent int64) int64 { return (replicas*percent + 99) / 100 }

// countedSurge returns how many pods of a surge are charged.
func countedSurge(replicas, surge int64) int64 {
	return max(0, surge-percentOf(replicas, defaultSurge))
}

// ofJob reads a Kubernetes Job, or the job template of a CronJob. Kubernetes runs no more pods at once than there are completions to do.
// A suspended Job counts as running, because resuming it needs no grant.
func ofJob(kind schema.GroupVersionKind, object metav1.Object, job *batchv1.JobSpec) (*Template, error) {
	parallelism := ptr.Deref(job.Parallelism, 1)
	completions := ptr.Deref(job.Completions, parallelism)
	t := ofAlike(kind, object, int64(min(parallelism, completions)), &job.Template)
	minimum, err := minimumOf(object)
	t.Pods[0].Minimum = min(minimum, t.Pods[0].Count)
	t.Overlaps, t.Suspended = true, ptr.Deref(job.Suspend, false)
	return t, errors.Join(notNegative("spec.parallelism", parallelism), notNegative("spec.completions", completions), err)
}

// EndsWithin is how long controllers and kubelets of a member may take to end a pod, in addition to its grace period.
const EndsWithin = 15 * time.Second

// ofCronJob reads a CronJob that runs one job at a time. It is charged between its jobs, too, because the next job starts in a
// member cluster without a grant.
func ofCronJob(cron *batchv1.CronJob) (*Template, error) {
	t, err := ofJob(CronJob, cron, &cron.Spec.JobTemplate.Spec)
	switch cron.Spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
	case batchv1.ReplaceConcurrent: // the pods of replaced jobs end while others run
		sets := 1 + (t.Grace+int64(EndsWithin/time.Second)+59)/60
		if strings.HasPrefix(cron.Spec.Schedule, "@every") {
			sets++ // a job may start at any second of each minute
		}
		t.Pods[0].Count *= sets
		t.Starts = fmt.Sprintf("%q %q %t %d", cron.Spec.Schedule, ptr.Deref(cron.Spec.TimeZone, ""), ptr.Deref(cron.Spec.Suspend, false), ptr.Deref(cron.Spec.StartingDeadlineSeconds, -1))
	default:
		err = errors.Join(err, errors.New("spec.concurrencyPolicy is Allow, so that nobody knows how many jobs run at the same time: set it to Forbid or Replace"))
	}
	return t, err
}

// ofDaemonSet reads everything except the number of pods, which only the member clusters know.
func ofDaemonSet(set *appsv1.DaemonSet) (*Template, error) {
	return ofAlike(DaemonSet, set, 1, &set.Spec.Template),
		errors.New("a DaemonSet has a pod on each node, and nobody knows here how many nodes there will be: use a Deployment, or name no queue")
}

func ofPod(pod *corev1.Pod) *Template {
	t := ofAlike(Pod, pod, 1, &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec,
	})
	t.keepsTemplate = true
	return t
}

func ofAlike(kind schema.GroupVersionKind, object metav1.Object, count int64, pods *corev1.PodTemplateSpec) *Template {
	t := identified(kind, object)
	t.Pods = []PodSet{{Count: count, Minimum: count, Template: pods}}
	t.Group = groupOf(pods)
	t.describe(object)
	return t
}

// minimumOf returns how many pods Volcano starts together: the number in the annotation of the object, or else one.
func minimumOf(object metav1.Object) (int64, error) {
	const annotation = schedulingv1beta1.VolcanoGroupMinMemberAnnotationKey
	text, given := object.GetAnnotations()[annotation]
	if !given {
		return 1, nil
	}
	minimum, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 1, fmt.Errorf("its annotation %s is %q: it must be a whole number from 0 to 2147483647", annotation, text)
	}
	return int64(minimum), nil
}

func notNegative[N int32 | int64](field string, n N) error {
	if n < 0 {
		return fmt.Errorf("%s is %d: it must not be negative", field, n)
	}
	return nil
}
