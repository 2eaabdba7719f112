// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

func TestOutsidersAreFound(t *testing.T) {
	groups := toolscache.NewSharedIndexInformer(nil, &schedulingv1beta1.PodGroup{}, 0, toolscache.Indexers{})
	pods := toolscache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, toolscache.Indexers{})
	jobs := toolscache.NewSharedIndexInformer(nil, &batchv1alpha1.Job{}, 0, toolscache.Indexers{})
	index, err := NewOutsiders(groups, jobs, pods)
	if err != nil {
		t.Fatal(err)
	}
	add := func(indexer toolscache.Indexer, obj any) {
		if err := indexer.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []struct {
		name, queue string
		phase       schedulingv1beta1.PodGroupPhase
	}{
		{"fine", "there", "Pending"}, {"default", "", "Pending"},
		{"new", "gone", ""}, {"pending", "gone", "Pending"}, {"inqueue", "gone", "Inqueue"},
		{"runs", "gone", "Running"}, {"grows", "gone", "Running"}, {"completed", "gone", "Completed"},
	} {
		add(index.groups, &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: g.name}, Spec: schedulingv1beta1.PodGroupSpec{Queue: g.queue},
			Status: schedulingv1beta1.PodGroupStatus{Phase: g.phase},
		})
	}
	for _, j := range []struct {
		name, queue string
		phase       batchv1alpha1.JobPhase
	}{
		{"fine", "there", batchv1alpha1.Pending}, {"alone", "there", ""}, {"lost", "gone", batchv1alpha1.Pending}, {"has-group", "gone", batchv1alpha1.Running},
		{"ended", "gone", batchv1alpha1.Completed}, {"aborted", "there", batchv1alpha1.Aborted}, {"unnamed", "", ""},
	} {
		job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: j.name, UID: types.UID(j.name)}, Spec: batchv1alpha1.JobSpec{Queue: j.queue}}
		job.Status.State.Phase = j.phase
		add(index.jobs, job)
		if j.name == "fine" || j.name == "has-group" {
			group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "of-" + j.name}, Spec: schedulingv1beta1.PodGroupSpec{Queue: j.queue}}
			group.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)}
			add(index.groups, group)
		}
	}
	// A Job was deleted and created again, and its former PodGroup is still there.
	add(index.jobs, &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "again", UID: "second"}, Spec: batchv1alpha1.JobSpec{Queue: "there"}})
	former := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "of-again"}, Spec: schedulingv1beta1.PodGroupSpec{Queue: "there"}}
	former.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "again", UID: "first", Controller: ptr.To(true)}}
	add(index.groups, former)
	ofKubernetes := former.DeepCopy()
	ofKubernetes.Name, ofKubernetes.OwnerReferences[0].APIVersion, ofKubernetes.OwnerReferences[0].Name = "of-kubernetes", "batch/v1", "kubernetes"
	add(index.groups, ofKubernetes)
	if group := index.PodGroupOfJob("ns", "kubernetes"); group == nil || group.Name != "of-kubernetes" {
		t.Errorf("the PodGroup of a Job of Kubernetes is %v", group)
	}
	now := metav1.Now()
	pod := func(group, name string, change func(*corev1.Pod)) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: group}}}
		p.Status.Phase, p.Spec.SchedulerName = corev1.PodPending, "volcano"
		change(p)
		add(index.pods, p)
	}
	pod("inqueue", "waits", func(*corev1.Pod) {})
	pod("inqueue", "gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}} })
	pod("inqueue", "leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &now })
	pod("inqueue", "elsewhere", func(p *corev1.Pod) { p.Namespace = "other" })
	pod("runs", "runs", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodRunning })
	pod("runs", "bound", func(p *corev1.Pod) {
		p.Spec.NodeName = "n1"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	})
	pod("inqueue", "theirs", func(p *corev1.Pod) { p.Spec.SchedulerName = corev1.DefaultSchedulerName })
	// Upstream has tried the pod on a node and given up.
	pod("grows", "waits-too", func(p *corev1.Pod) { p.Spec.NodeName = "n1" })

	pod("", "groupless", func(*corev1.Pod) {})
	pod("", "not-ours", func(p *corev1.Pod) { p.Spec.SchedulerName = corev1.DefaultSchedulerName })
	pod("no-such", "astray", func(*corev1.Pod) {})

	queues := map[api.QueueID]*api.QueueInfo{"there": {}}
	find := func() string {
		found := map[string][]string{}
		for _, s := range index.FindWithoutQueue(queues) {
			if s.Job != nil {
				found["job "+s.Job.Name] = nil
				continue
			}
			found[s.Group.Name] = []string{}
			for _, p := range s.Pods {
				found[s.Group.Name] = append(found[s.Group.Name], p.Name)
			}
		}
		return fmt.Sprint(found)
	}
	const (
		noName       = "job unnamed:[]"
		withoutQueue = "map[completed:[] grows:[waits-too] inqueue:[waits] job lost:[] " + noName + " new:[] of-has-group:[] pending:[] runs:[]]"
	)
	for _, session := range []struct {
		name   string
		exists bool
		want   string
	}{
		{"the queue may just not have been read", false, "map[]"},
		{"the queue is missing", false, withoutQueue},
		{"the queue appears", true, "map[" + noName + "]"},
		{"and is deleted", false, "map[" + noName + "]"},
		{"and stays so", false, withoutQueue},
	} {
		if delete(queues, "gone"); session.exists {
			queues["gone"] = &api.QueueInfo{}
		}
		if got := find(); got != session.want {
			t.Errorf("%s: withoutQueue are %s, want %s", session.name, got, session.want)
		}
	}

	var outside []string
	for _, o := range index.FindWithoutGroup(queues) {
		if o.Job != nil {
			outside = append(outside, o.Job.Name)
			continue
		}
		for _, pod := range o.Pods {
			outside = append(outside, pod.Name)
		}
	}
	slices.Sort(outside)
	if want := []string{"again", "alone", "astray", "elsewhere", "groupless"}; !slices.Equal(outside, want) {
		t.Errorf("without a PodGroup are %v, want %v", outside, want)
	}
}
