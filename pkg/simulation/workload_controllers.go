// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	controllersutil "volcano.sh/volcano/pkg/controllers/util"

	"github.com/devicequota/devicequota/pkg/demand"
)

const (
	groupVersion = "scheduling.volcano.sh/v1beta1"
	groupKind    = "PodGroup"
)

func (r *replay) groups() ([]*schedulingv1beta1.PodGroup, error) {
	return objects[schedulingv1beta1.PodGroup](r, "scheduling.volcano.sh", "v1beta1", "podgroups")
}

// jobs returns the Volcano Jobs that have not ended.
func (r *replay) jobs() ([]*batchv1alpha1.Job, error) {
	all, err := objects[batchv1alpha1.Job](r, "batch.volcano.sh", "v1alpha1", "jobs")
	live := []batchv1alpha1.JobPhase{"", batchv1alpha1.Pending, batchv1alpha1.Running}
	return slices.DeleteFunc(all, func(job *batchv1alpha1.Job) bool {
		return job.DeletionTimestamp != nil || !slices.Contains(live, job.Status.State.Phase)
	}), err
}

func groupOf(job *batchv1alpha1.Job) string { return job.Name + "-" + string(job.UID) }

// makePodGroups creates the PodGroups of Volcano Jobs, as Volcano's job controller does.
func (r *replay) makePodGroups() error {
	jobs, err := r.jobs()
	if err != nil {
		return err
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	for _, job := range jobs {
		owned := func(g *schedulingv1beta1.PodGroup) bool { return metav1.IsControlledBy(g, job) }
		if slices.ContainsFunc(groups, owned) {
			continue
		}
		if err := r.put(groupVersion, groupKind, r.podGroup(job)); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) podGroup(job *batchv1alpha1.Job) *schedulingv1beta1.PodGroup {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: groupOf(job), Annotations: job.Annotations, Labels: job.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)},
		},
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember: job.Spec.MinAvailable, MinTaskMember: map[string]int32{}, Queue: job.Spec.Queue, PriorityClassName: job.Spec.PriorityClassName,
			NetworkTopology: topologyOf(job.Spec.NetworkTopology),
		},
		Status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupPending},
	}
	priority := func(class string) int32 {
		value, _ := priorityOf(class, r.classes)
		return value
	}
	least := corev1.ResourceList{}
	for i, pods := range demand.MinimumPods(job, priority) {
		task := &job.Spec.Tasks[i]
		group.Spec.MinTaskMember[task.Name] = *task.MinAvailable
		if parts := task.PartitionPolicy; parts != nil {
			group.Spec.SubGroupPolicy = append(group.Spec.SubGroupPolicy, schedulingv1beta1.SubGroupPolicySpec{
				Name: task.Name, SubGroupSize: &parts.PartitionSize, MinSubGroups: &parts.MinPartitions, NetworkTopology: topologyOf(parts.NetworkTopology),
				LabelSelector:  &metav1.LabelSelector{MatchLabels: map[string]string{batchv1alpha1.TaskSpecKey: task.Name}},
				MatchLabelKeys: []string{batchv1alpha1.TaskPartitionID},
			})
		}
		pod := &corev1.Pod{Spec: *task.Template.Spec.DeepCopy()}
		defaultPod(pod, r.classes)
		least = quota.Add(least, controllersutil.CalTaskRequests(pod, pods))
	}
	group.Spec.MinResources = &least
	return group
}

func topologyOf(of *batchv1alpha1.NetworkTopologySpec) *schedulingv1beta1.NetworkTopologySpec {
	if of == nil {
		return nil
	}
	return &schedulingv1beta1.NetworkTopologySpec{
		Mode: schedulingv1beta1.NetworkTopologyMode(of.Mode), HighestTierAllowed: of.HighestTierAllowed, HighestTierName: of.HighestTierName,
	}
}

// makePods creates the pods of the Volcano Jobs that the scheduler has let in. It does not recreate evicted pods, because the answer names
// the pods that go.
func (r *replay) makePods() error {
	jobs, err := r.jobs()
	if err != nil {
		return err
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, pod := range slices.Concat(r.server.List("", "v1", "pods"), r.server.DeletedPods()) {
		known[roleOf(pod)] = true
	}
	for _, job := range jobs {
		at := slices.IndexFunc(groups, func(g *schedulingv1beta1.PodGroup) bool { return metav1.IsControlledBy(g, job) })
		if at < 0 || groups[at].Status.Phase == "" || groups[at].Status.Phase == schedulingv1beta1.PodGroupPending {
			continue
		}
		for i := range job.Spec.Tasks {
			for index := range int(job.Spec.Tasks[i].Replicas) {
				pod := jobPod(job, &job.Spec.Tasks[i], index, groups[at].Name)
				if known[roleOf(pod)] {
					continue
				}
				defaultPod(pod, r.classes)
				if err := r.put("v1", "Pod", pod); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// roleOf identifies a pod by its place in its job. The name of a pod does not tell the place in a state without names.
func roleOf(pod metav1.Object) string {
	owner, annotations := metav1.GetControllerOfNoCopy(pod), pod.GetAnnotations()
	if owner == nil {
		return ""
	}
	return string(owner.UID) + "/" + annotations[batchv1alpha1.TaskSpecKey] + "/" + annotations[batchv1alpha1.TaskIndex]
}

// jobPod returns a pod of a Volcano Job.
func jobPod(job *batchv1alpha1.Job, task *batchv1alpha1.TaskSpec, index int, group string) *corev1.Pod {
	template := task.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: fmt.Sprintf("%s-%s-%d", job.Name, task.Name, index), Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)},
		},
		Spec: template.Spec,
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = job.Spec.SchedulerName
	}
	if pod.Spec.PriorityClassName == "" {
		pod.Spec.PriorityClassName = job.Spec.PriorityClassName
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	same := map[string]string{
		batchv1alpha1.TaskIndex: strconv.Itoa(index), batchv1alpha1.TaskSpecKey: task.Name,
		batchv1alpha1.JobNameKey: job.Name, batchv1alpha1.QueueNameKey: job.Spec.Queue,
	}
	maps.Copy(pod.Annotations, same)
	maps.Copy(pod.Labels, same)
	pod.Labels[batchv1alpha1.JobNamespaceKey] = job.Namespace
	pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = group
	pod.Annotations[batchv1alpha1.JobVersion] = strconv.Itoa(int(job.Status.Version))
	pod.Annotations[batchv1alpha1.PodTemplateKey] = job.Name + "-" + task.Name
	if parts := task.PartitionPolicy; parts != nil {
		pod.Labels[batchv1alpha1.TaskPartitionID] = strconv.Itoa(index / max(1, int(parts.PartitionSize)))
	}
	if task.TopologyPolicy != "" {
		pod.Annotations[schedulingv1beta1.NumaPolicyKey] = string(task.TopologyPolicy)
	}
	inherit(pod.Annotations, job.Annotations, schedulingv1beta1.PodPreemptable, schedulingv1beta1.CooldownTime, schedulingv1beta1.RevocableZone,
		schedulingv1beta1.JDBMinAvailable, schedulingv1beta1.JDBMaxUnavailable)
	inherit(pod.Labels, job.Labels, schedulingv1beta1.PodPreemptable, schedulingv1beta1.CooldownTime)
	return pod
}

func inherit(to, from map[string]string, keys ...string) {
	for _, key := range keys {
		if value, has := from[key]; has {
			to[key] = value
		}
	}
}

// makeGroupsOfPods creates the PodGroups of pods without one, as Volcano's PodGroup controller does.
func (r *replay) makeGroupsOfPods() error {
	pods, err := r.pods()
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Spec.SchedulerName != defaultScheduler || pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] != "" {
			continue
		}
		name := helpers.GeneratePodgroupName(pod)
		group := &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: name, Annotations: map[string]string{}, Labels: map[string]string{},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
			},
			Spec:   schedulingv1beta1.PodGroupSpec{MinMember: leastOf(pod), Queue: defaultQueue, PriorityClassName: pod.Spec.PriorityClassName},
			Status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupPending},
		}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			group.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		if queue := pod.Annotations[schedulingv1beta1.QueueNameAnnotationKey]; queue != "" {
			group.Spec.Queue = queue
		}
		least := controllersutil.CalTaskRequests(pod, group.Spec.MinMember)
		group.Spec.MinResources = &least
		inherit(group.Annotations, pod.Annotations, schedulingv1beta1.PodPreemptable, schedulingv1beta1.CooldownTime, schedulingv1beta1.RevocableZone)
		inherit(group.Labels, pod.Labels, schedulingv1beta1.PodPreemptable, schedulingv1beta1.CooldownTime)
		if err := r.put(groupVersion, groupKind, group); err != nil {
			return err
		}
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = name
		if err := r.put("v1", "Pod", pod); err != nil {
			return err
		}
	}
	return nil
}

// leastOf returns the number of pods of a workload that start together.
func leastOf(pod *corev1.Pod) int32 {
	least, err := strconv.ParseInt(pod.Annotations[schedulingv1beta1.VolcanoGroupMinMemberAnnotationKey], 10, 32)
	if err != nil || least < 1 {
		return 1
	}
	return min(int32(least), maxPods) // Volcano's function counts to it
}
