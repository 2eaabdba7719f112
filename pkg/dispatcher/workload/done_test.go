// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func TestAMemberHasDoneWhatItWasTold(t *testing.T) {
	object := &Template{Generation: 3, Pods: []PodSet{{Name: "ps", Count: 1}, {Name: "worker", Count: 2}}}
	const known = `"resourceTemplateGeneration":3,"generation":5,"observedGeneration":5,`
	for _, tc := range []struct {
		name   string
		kind   schema.GroupVersionKind
		status string
		want   bool
	}{
		{"nothing is reported", Deployment, ``, false},
		{"no JSON", Deployment, `{`, false},
		{"it has shrunk", Deployment, `{` + known + `"replicas":3,"updatedReplicas":3}`, true},
		{"it has fewer", Deployment, `{` + known + `"replicas":1,"updatedReplicas":1}`, true},
		{"it was scaled to zero", Deployment, `{"resourceTemplateGeneration":3,"generation":5,"observedGeneration":5}`, true},
		{"it cannot make its pods yet, and may at any time", Deployment, `{` + known + `"unavailableReplicas":4}`, false},
		{"it has more", Deployment, `{` + known + `"replicas":4,"updatedReplicas":4}`, false},
		{"available replicas say nothing", Deployment, `{` + known + `"replicas":4,"updatedReplicas":4,"availableReplicas":3}`, false},
		{"it is paused, or rolls out", Deployment, `{` + known + `"replicas":3,"updatedReplicas":0}`, false},
		{"the member has an older object", Deployment, `{"resourceTemplateGeneration":2,"generation":5,"observedGeneration":5,"replicas":3,"updatedReplicas":3}`, false},
		{"its controller has not looked", Deployment, `{"resourceTemplateGeneration":3,"generation":5,"observedGeneration":4,"replicas":3,"updatedReplicas":3}`, false},
		{"a StatefulSet has shrunk", StatefulSet, `{"resourceTemplateGeneration":3,"generation":5,"replicas":3,"updatedReplicas":3}`, true},
		{"OnDelete, or a partition", StatefulSet, `{"resourceTemplateGeneration":3,"generation":5,"replicas":3,"updatedReplicas":1}`, false},
		{"a Job has as many", Job, `{"active":3}`, true},
		{"a Job has none", Job, `{"succeeded":1}`, true},
		{"a Job has more", Job, `{"active":4}`, false},
		{"a CronJob waits", CronJob, `{"lastScheduleTime":"2026-01-01T00:00:00Z"}`, true},
		{"a CronJob runs", CronJob, `{"active":[{"name":"j"}]}`, false},
		{"all tasks fit", VolcanoJob, `{"state":{"phase":"Running"},"taskStatusCount":{"ps":{"phase":{"Running":1,"Failed":2}},"worker":{"phase":{"Running":1,"Pending":1}}}}`, true},
		{"a task has more, and another less", VolcanoJob, `{"state":{"phase":"Running"},"taskStatusCount":{"ps":{"phase":{"Running":2}},"worker":{"phase":{"Running":1}}}}`, false},
		{"a task is gone from the object", VolcanoJob, `{"state":{"phase":"Running"},"taskStatusCount":{"old":{"phase":{"Running":1}}}}`, false},
		{"pods of a job end", VolcanoJob, `{"state":{"phase":"Running"},"terminating":1}`, false},
		{"a job has not been looked at", VolcanoJob, `{}`, false},
		{"a kind that is not read", schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}, `{"replicas":0}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := object.Done(tc.kind, []byte(tc.status), 3); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestAllPodsHaveBeenReplaced: until then, clusters may make pods of a former template.
func TestAllPodsHaveBeenReplaced(t *testing.T) {
	paused, partitioned, onDelete := &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	onDelete.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	paused.Spec.Paused = true
	partitioned.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1)}
	const all = `{"replicas":3,"updatedReplicas":3,"readyReplicas":3}`
	for _, tc := range []struct {
		name   string
		object runtime.Object
		kind   schema.GroupVersionKind
		status string
		want   bool
	}{
		{"a Deployment", &appsv1.Deployment{}, Deployment, `{"replicas":3,"updatedReplicas":3}`, true},
		{"not all", &appsv1.Deployment{}, Deployment, `{"replicas":3,"updatedReplicas":2}`, false},
		{"it cannot make the former ones yet", &appsv1.Deployment{}, Deployment, `{"replicas":2,"updatedReplicas":2,"availableReplicas":2,"unavailableReplicas":1}`, false},
		{"it is paused", paused, Deployment, all, false},
		{"a StatefulSet", &appsv1.StatefulSet{}, StatefulSet, all, true},
		{"not all are ready", &appsv1.StatefulSet{}, StatefulSet, `{"replicas":3,"updatedReplicas":3,"readyReplicas":2}`, false},
		{"it has a partition", partitioned, StatefulSet, all, false},
		{"OnDelete, where Kubernetes goes on to know the former template", onDelete, StatefulSet, all, false},
		{"OnDelete, and nobody has deleted them", &appsv1.StatefulSet{}, StatefulSet, `{"replicas":3,"readyReplicas":3}`, false},
		{"nothing is reported", &appsv1.Deployment{}, Deployment, ``, false},
	} {
		template, err := Of(tc.object, nil)
		if err != nil || !template.Replaces || template.Replaced(tc.kind, []byte(tc.status), 3) != tc.want {
			t.Errorf("%s: replaced is not %v, %v", tc.name, tc.want, err)
		}
	}
}

func TestNobodyFindsTwoTemplatesOfOneShape(t *testing.T) {
	pod, err := Of(&corev1.Pod{}, nil)
	if err != nil || len(pod.Shape()) < 32 { // 128 bits
		t.Errorf("the shape is %q, %v", pod.Shape(), err)
	}
	if allocs := testing.AllocsPerRun(10, func() { pod.Shape() }); allocs > 0 {
		t.Errorf("each cycle makes it anew, with %.0f allocations", allocs)
	}
}

func TestTheShapeIsWhatPodsKeep(t *testing.T) {
	job := func(replicas int32, cpu string) *Template {
		o := &batchv1alpha1.Job{Spec: batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{{Name: "t", Replicas: replicas}}}}
		o.Spec.Tasks[0].Template.Spec.Containers = []corev1.Container{{Image: cpu}}
		template, err := Of(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return template
	}
	if job(1, "a").Shape() == "" || job(1, "a").Shape() != job(4, "a").Shape() {
		t.Error("how many there are belongs to the shape of a Volcano Job")
	}
	if job(1, "a").Shape() == job(1, "b").Shape() {
		t.Error("the template does not belong to the shape of a Volcano Job")
	}
	d, err := Of(&appsv1.Deployment{}, nil)
	if err != nil || d.Shape() != "" {
		t.Errorf("a Deployment has the shape %q, %v", d.Shape(), err)
	}
}

func TestTheLongestGracePeriodCounts(t *testing.T) {
	for _, tc := range []struct {
		grace *int64
		want  int64
	}{{nil, 30}, {ptr.To[int64](0), 0}, {ptr.To[int64](3600), 3600}, {ptr.To[int64](1 << 62), maxGrace}} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{retainReplicas: "true"}}}
		d.Spec.Template.Spec.TerminationGracePeriodSeconds = tc.grace
		template, err := Of(d, nil)
		if err != nil || template.Grace != tc.want || !template.RetainsReplicas {
			t.Errorf("got %d seconds, retains %v, %v; want %d", template.Grace, template.RetainsReplicas, err, tc.want)
		}
	}
}
