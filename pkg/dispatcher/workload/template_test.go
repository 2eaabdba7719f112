// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// text formats a template for tests: kind queue=q class=c group=g volcano reserve=r set:minimum/count...
func (t *Template) text() string {
	if t == nil {
		return ""
	}
	words := []string{t.Kind}
	for _, w := range []struct{ name, value string }{{"queue", t.Queue}, {"class", t.PriorityClass}, {"group", t.Group}, {"cards", t.CardRequest}} {
		if w.value != "" {
			words = append(words, w.name+"="+w.value)
		}
	}
	if t.ForVolcano {
		words = append(words, "volcano")
	}
	for name, quantity := range t.Reserve {
		words = append(words, fmt.Sprintf("reserve=%s:%s", name, quantity.String()))
	}
	for _, p := range t.Pods {
		words = append(words, fmt.Sprintf("%s:%d/%d", p.Name, p.Minimum, p.Count))
	}
	return strings.Join(words, " ")
}

type pods func(*corev1.PodTemplateSpec)

func podsAnnotated(name, value string) pods {
	return func(p *corev1.PodTemplateSpec) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, name, value) }
}

func podsLabelled(name, value string) pods {
	return func(p *corev1.PodTemplateSpec) { metav1.SetMetaDataLabel(&p.ObjectMeta, name, value) }
}

func scheduledBy(name string) pods {
	return func(p *corev1.PodTemplateSpec) { p.Spec.SchedulerName = name }
}

func ofClass(name string) pods {
	return func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = name }
}

func graceOf(seconds int64) pods {
	return func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

func surging(replicas int32, surge string) *appsv1.Deployment {
	d := deployment(meta(), n(replicas))
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.Parse(surge))}
	return d
}

func templateOf(changes ...pods) corev1.PodTemplateSpec {
	p := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func task(name string, replicas int32, minimum *int32, changes ...pods) batchv1alpha1.TaskSpec {
	return batchv1alpha1.TaskSpec{Name: name, Replicas: replicas, MinAvailable: minimum, Template: templateOf(changes...)}
}

func meta(words ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "uid", ResourceVersion: "7"}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if kind, name, _ := strings.Cut(name, ":"); kind == "label" {
			metav1.SetMetaDataLabel(&m, name, value)
		} else {
			metav1.SetMetaDataAnnotation(&m, name, value)
		}
	}
	return m
}

func deployment(m metav1.ObjectMeta, replicas *int32, changes ...pods) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: replicas, Template: templateOf(changes...)}}
}

func job(m metav1.ObjectMeta, parallelism, completions *int32) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Parallelism: parallelism, Completions: completions, Template: templateOf()}}
}

func cronJob(m metav1.ObjectMeta, policy batchv1.ConcurrencyPolicy, changes ...pods) *batchv1.CronJob {
	spec := batchv1.JobSpec{Parallelism: n(5), Template: templateOf(changes...)}
	return &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{ConcurrencyPolicy: policy, JobTemplate: batchv1.JobTemplateSpec{Spec: spec}}}
}

func every(cron *batchv1.CronJob) *batchv1.CronJob {
	cron.Spec.Schedule = "@every 45s"
	return cron
}

func volcanoJob(m metav1.ObjectMeta, spec batchv1alpha1.JobSpec) *batchv1alpha1.Job {
	return &batchv1alpha1.Job{ObjectMeta: m, Spec: spec}
}

func n(i int32) *int32 { return &i }

const (
	inQueue    = "annotation:scheduling.volcano.sh/queue-name=q"
	labelQueue = "label:scheduling.volcano.sh/queue-name=lq"
)

func TestOfReadsPods(t *testing.T) {
	for _, c := range []struct {
		name    string
		object  runtime.Object
		want    string
		wantErr string
	}{
		{name: "a Deployment starts with one pod", object: deployment(meta(), n(4)), want: "Deployment :1/4"},
		{name: "without replicas it has one", object: deployment(meta(), nil), want: "Deployment :1/1"},
		{name: "it may have none", object: deployment(meta(), n(0)), want: "Deployment :0/0"},
		{name: "its annotation says how many start together", object: deployment(meta("annotation:scheduling.volcano.sh/group-min-member=3"), n(4)), want: "Deployment :3/4"},
		{name: "which are at most all", object: deployment(meta("annotation:scheduling.volcano.sh/group-min-member=9"), n(4)), want: "Deployment :4/4"},
		{name: "an annotation that is no number", object: deployment(meta("annotation:scheduling.volcano.sh/group-min-member=-1", inQueue), n(4)), want: "Deployment queue=q",
			wantErr: `its annotation scheduling.volcano.sh/group-min-member is "-1": it must be a whole number from 0 to 2147483647`},
		{name: "negative replicas", object: deployment(meta(inQueue), n(-1), scheduledBy("volcano")), want: "Deployment queue=q volcano", wantErr: "spec.replicas is -1: it must not be negative"},
		{name: "an update with the default surge, or none", object: surging(4, "25%"), want: "Deployment :1/4"},
		{name: "or with one that is no more in numbers", object: surging(1, "1"), want: "Deployment :1/1"},
		{name: "the surge beyond it counts", object: surging(4, "300%"), want: "Deployment :1/15"},
		{name: "in numbers, too", object: surging(4, "6"), want: "Deployment :1/9"},
		{name: "even one that overflows", object: surging(1000, "9223372036854775807%"), want: "Deployment :1/2147484397"},
		{name: "or would overflow a number of pods", object: surging(1, "9223372036854775807%"), want: "Deployment :1/21474837"},
		{name: "but nothing surges where there is nothing", object: surging(0, "6"), want: "Deployment :0/0"},
		{name: "clusters return to a template that is not known", object: deployment(meta("annotation:deprecated.deployment.rollback.to=1", inQueue), n(4)), want: "Deployment queue=q",
			wantErr: "its annotation deprecated.deployment.rollback.to makes clusters return to a template that it had before, and that nobody knows here: " +
				"remove it, and write that template into the object"},
		{name: "a StatefulSet", object: &appsv1.StatefulSet{ObjectMeta: meta(), Spec: appsv1.StatefulSetSpec{Replicas: n(3), Template: templateOf()}}, want: "StatefulSet :1/3"},
		{name: "a Job runs its parallelism", object: job(meta(), n(5), nil), want: "Job :1/5"},
		{name: "but no more than its completions", object: job(meta(), n(5), n(2)), want: "Job :1/2"},
		{name: "and by default one", object: job(meta(), nil, n(8)), want: "Job :1/1"},
		{name: "a suspended Job counts", object: &batchv1.Job{ObjectMeta: meta(), Spec: batchv1.JobSpec{Suspend: ptr.To(true), Parallelism: n(2)}}, want: "Job :1/2"},
		{name: "negative numbers of a Job", object: job(meta(), n(-5), n(-2)), want: "Job",
			wantErr: "spec.parallelism is -5: it must not be negative\nspec.completions is -2: it must not be negative"},
		{name: "a CronJob that runs one Job at a time", object: cronJob(meta(inQueue), batchv1.ForbidConcurrent), want: "CronJob queue=q :1/5"},
		{name: "or replaces it, while the pods of one that was replaced end", object: cronJob(meta(), batchv1.ReplaceConcurrent, scheduledBy("volcano")), want: "CronJob volcano :1/10"},
		{name: "which may be those of many", object: cronJob(meta(), batchv1.ReplaceConcurrent, graceOf(150)), want: "CronJob :1/20"},
		{name: "or of one more, since they do not end at once", object: cronJob(meta(), batchv1.ReplaceConcurrent, graceOf(60)), want: "CronJob :1/15"},
		{name: "or of one more, if jobs begin at any second", object: every(cronJob(meta(), batchv1.ReplaceConcurrent)), want: "CronJob :1/15"},
		{name: "a CronJob that runs any number of Jobs", object: cronJob(meta(inQueue), batchv1.AllowConcurrent), want: "CronJob queue=q",
			wantErr: "spec.concurrencyPolicy is Allow, so that nobody knows how many jobs run at the same time: set it to Forbid or Replace"},
		{name: "a DaemonSet", object: &appsv1.DaemonSet{ObjectMeta: meta(), Spec: appsv1.DaemonSetSpec{Template: templateOf(podsAnnotated(queueName, "pq"))}}, want: "DaemonSet queue=pq",
			wantErr: "a DaemonSet has a pod on each node, and nobody knows here how many nodes there will be: use a Deployment, or name no queue"},
		{name: "a Pod", object: &corev1.Pod{ObjectMeta: meta("annotation:scheduling.k8s.io/group-name=g"), Spec: corev1.PodSpec{SchedulerName: "volcano"}}, want: "Pod group=g volcano :1/1"},
		{name: "another scheduler", object: deployment(meta(), n(1), scheduledBy("default-scheduler")), want: "Deployment :1/1"},
		{name: "an unknown kind", object: &corev1.Service{}, wantErr: "objects of type *v1.Service are not read"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.object, c.want, c.wantErr) })
	}
}

func TestOfReadsVolcanosKinds(t *testing.T) {
	partitioned, resuming := task("b", 8, nil), task("a", 1, nil)
	resuming.Policies = []batchv1alpha1.LifecyclePolicy{{Event: busv1alpha1.TaskFailedEvent, Action: busv1alpha1.ResumeJobAction}}
	partitioned.PartitionPolicy = &batchv1alpha1.PartitionPolicySpec{TotalPartitions: 4, PartitionSize: 2, MinPartitions: 1}
	for _, c := range []struct {
		name    string
		object  runtime.Object
		want    string
		wantErr string
	}{
		{name: "the minimum of a Job is by default all", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{task("a", 2, nil), task("b", 3, nil)}}),
			want: "Job volcano a:2/2 b:3/3"},
		{name: "or the minimums of its tasks", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{task("a", 2, n(1)), task("b", 3, nil)}}),
			want: "Job volcano a:1/2 b:3/3"},
		{name: "more than these come from the first tasks", object: volcanoJob(meta(), batchv1alpha1.JobSpec{MinAvailable: 5, Tasks: []batchv1alpha1.TaskSpec{task("a", 2, n(1)), task("b", 4, n(2))}}),
			want: "Job volcano a:2/2 b:3/4"},
		{name: "and so do less", object: volcanoJob(meta(), batchv1alpha1.JobSpec{MinAvailable: 3, Tasks: []batchv1alpha1.TaskSpec{task("a", 2, nil), task("b", 3, nil)}}),
			want: "Job volcano a:2/2 b:1/3"},
		{name: "partitions have a minimum", object: volcanoJob(meta(), batchv1alpha1.JobSpec{MinAvailable: 4, Tasks: []batchv1alpha1.TaskSpec{task("a", 2, nil), partitioned}}),
			want: "Job volcano a:2/2 b:2/8"},
		{name: "and so has the Job", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{partitioned}}), want: "Job volcano b:2/8"},
		{name: "a task without a name", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{task("", 2, nil)}}), want: "Job volcano default0:2/2"},
		{name: "no tasks", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Queue: "q"}), want: "Job queue=q volcano"},
		{name: "a task below its minimum", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Queue: "q", Tasks: []batchv1alpha1.TaskSpec{task("a", 2, n(3))}}), want: "Job queue=q volcano",
			wantErr: "spec.tasks[0].minAvailable is 3, and replicas is 2: lower minAvailable, or raise replicas"},
		{name: "a Job below its minimum", object: volcanoJob(meta(), batchv1alpha1.JobSpec{MinAvailable: 3, Tasks: []batchv1alpha1.TaskSpec{task("a", 2, nil)}}), want: "Job volcano",
			wantErr: "spec.minAvailable is 3, and the tasks have 2 replicas in all: lower minAvailable, or raise replicas"},
		{name: "negative numbers", object: volcanoJob(meta(), batchv1alpha1.JobSpec{MinAvailable: -1, Tasks: []batchv1alpha1.TaskSpec{task("a", -2, n(-3))}}), want: "Job volcano",
			wantErr: "spec.tasks[0].replicas is -2: it must not be negative\nspec.tasks[0].minAvailable is -3: it must not be negative\nspec.minAvailable is -1: it must not be negative"},
		{name: "more pods than any number in Volcano holds", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{task("a", math.MaxInt32, nil), task("b", math.MaxInt32, nil)}}),
			want: "Job volcano", wantErr: "spec.tasks have 4294967294 replicas in all: a job has at most 2147483647"},
		{name: "a Job that resumes itself after it has ended", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Policies: []batchv1alpha1.LifecyclePolicy{
			{Event: busv1alpha1.PodFailedEvent, Action: busv1alpha1.AbortJobAction}, {Event: busv1alpha1.PodEvictedEvent, Action: busv1alpha1.ResumeJobAction}}, Tasks: []batchv1alpha1.TaskSpec{resuming}}),
			want: "Job volcano", wantErr: "spec.policies[1].action is ResumeJob, so that the job may go on without room after it was aborted: use RestartJob\n" +
				"spec.tasks[0].policies[0].action is ResumeJob, so that the job may go on without room after it was aborted: use RestartJob"},
		{name: "a PodGroup has a reserve", object: &schedulingv1beta1.PodGroup{ObjectMeta: meta(`annotation:volcano.sh/card.request={"A":1}`), Spec: schedulingv1beta1.PodGroupSpec{
			Queue: "q", PriorityClassName: "high", MinMember: 3, MinResources: &corev1.ResourceList{"cpu": resource.MustParse("4")}}}, want: `PodGroup queue=q class=high cards={"A":1} volcano reserve=cpu:4`},
		{name: "a negative reserve", object: &schedulingv1beta1.PodGroup{ObjectMeta: meta(), Spec: schedulingv1beta1.PodGroupSpec{MinMember: -1, MinResources: &corev1.ResourceList{"cpu": resource.MustParse("-4")}}},
			want: "PodGroup volcano reserve=cpu:-4", wantErr: "spec.minMember is -1: it must not be negative\nspec.minResources[cpu] is -4: it must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.object, c.want, c.wantErr) })
	}
}

func TestOfReadsTheQueueAndThePriorityClass(t *testing.T) {
	podQueue, podLabel := podsAnnotated(queueName, "pq"), podsLabelled(queueName, "pl")
	two := func(first, second string) []batchv1alpha1.TaskSpec {
		return []batchv1alpha1.TaskSpec{task("a", 1, nil, ofClass(first)), task("b", 1, nil, ofClass(second))}
	}
	one := []batchv1alpha1.TaskSpec{task("a", 1, nil)}
	for _, c := range []struct {
		name   string
		object runtime.Object
		want   string
	}{
		{name: "the object's annotation", object: deployment(meta(inQueue), n(1)), want: "Deployment queue=q :1/1"},
		{name: "the object's label", object: deployment(meta(labelQueue), n(1)), want: "Deployment queue=lq :1/1"},
		{name: "the pods' label comes first", object: deployment(meta(labelQueue), n(1), podLabel), want: "Deployment queue=pl :1/1"},
		{name: "the object's annotation before labels", object: deployment(meta(inQueue, labelQueue), n(1), podLabel), want: "Deployment queue=q :1/1"},
		{name: "the pods' annotation before all", object: deployment(meta(inQueue, labelQueue), n(1), podQueue, podLabel), want: "Deployment queue=pq :1/1"},
		{name: "spec.queue before all", object: volcanoJob(meta(inQueue), batchv1alpha1.JobSpec{Queue: "s", Tasks: one}), want: "Job queue=s volcano a:1/1"},
		{name: "unless it is the default", object: volcanoJob(meta(inQueue), batchv1alpha1.JobSpec{Queue: "default", Tasks: one}), want: "Job queue=q volcano a:1/1"},
		{name: "which counts if nothing else does", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Queue: "default", Tasks: one}), want: "Job queue=default volcano a:1/1"},
		{name: "the queue of a PodGroup", object: &schedulingv1beta1.PodGroup{ObjectMeta: meta(labelQueue)}, want: "PodGroup queue=lq volcano"},
		{name: "the pods' PriorityClass", object: deployment(meta(), n(1), ofClass("high")), want: "Deployment class=high :1/1"},
		{name: "the PriorityClass of a Job before that of its pods", object: volcanoJob(meta(), batchv1alpha1.JobSpec{PriorityClassName: "mid", Tasks: two("high", "high")}), want: "Job class=mid volcano a:1/1 b:1/1"},
		{name: "all tasks agree", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: two("high", "high")}), want: "Job class=high volcano a:1/1 b:1/1"},
		{name: "tasks differ", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: two("high", "low")}), want: "Job volcano a:1/1 b:1/1"},
		{name: "the group of pods", object: deployment(meta(), n(1), podsAnnotated("scheduling.k8s.io/group-name", "g")), want: "Deployment group=g :1/1"},
		{name: "Volcano replaces the group of the pods of a Job", object: volcanoJob(meta(), batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{
			task("a", 1, nil, podsAnnotated("scheduling.k8s.io/group-name", "g"))}}), want: "Job volcano a:1/1"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.object, c.want, "") })
	}
}

func check(t *testing.T, object runtime.Object, want, wantErr string) {
	t.Helper()
	before := object.DeepCopyObject()
	got, err := Of(object, []string{"volcano", "other"})
	if got.text() != want {
		t.Errorf("got  %s\nwant %s", got.text(), want)
	}
	if got != nil && (got.Namespace != "ns" || got.Name != "w" || got.UID != "uid" || got.ResourceVersion != "7") {
		t.Errorf("the template does not identify the object: %+v", got)
	}
	if text := fmt.Sprint(err); text != wantErr && (err != nil || wantErr != "") {
		t.Errorf("error  %v\nwanted %s", err, wantErr)
	}
	if !equality.Semantic.DeepEqual(before, object) {
		t.Error("the object has changed")
	}
}

func TestEachClusterSurges(t *testing.T) {
	for _, c := range []struct {
		replicas            int32
		surge               string
		surged, three, many int64
		// more is the additional count if clusters have forty replicas.
		more int64
	}{
		{4, "25%", 0, 0, 0, 0}, {4, "100%", 3, 0, 0, 27}, // a percentage of all replicas, for any number of clusters
		{4, "1", 0, 2, 9, 0}, {4, "4", 3, 8, 36, 0}, {4, "50", 49, 100, 450, 0},
		{0, "100%", 0, 0, 0, 30}, {0, "50", 0, 0, 0, 40},
	} {
		d, err := Of(surging(c.replicas, c.surge), nil)
		if err != nil || d.Surged != c.surged || d.SurgeBeyond(0, 1) != 0 || d.SurgeBeyond(0, 3) != c.three || d.SurgeBeyond(0, 10) != c.many || d.SurgeBeyond(40, 1) != c.more {
			t.Errorf("surge %s of %d: %d counted, and %d in three, %d in ten clusters, %d with forty replicas, %v",
				c.surge, c.replicas, d.Surged, d.SurgeBeyond(0, 3), d.SurgeBeyond(0, 10), d.SurgeBeyond(40, 1), err)
		}
	}
}
