// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

const (
	// podsPerJob and coresPerPod hold for all jobs.
	podsPerJob  = 2
	coresPerPod = 2
)

func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)) }

// addQueues adds the tree of queues, and a namespace with a claim template for each department.
func (p *controlPlane) addQueues(b backlog) {
	add := func(name, parent string, jobs int) {
		q := &schedulingv1beta1.Queue{ObjectMeta: p.meta("", name)}
		q.Spec.Parent, q.Spec.Weight = parent, 1
		if parent != "" {
			cores := resource.NewQuantity(int64(jobs*podsPerJob*coresPerPod), resource.DecimalSI)
			q.Spec.Capability = corev1.ResourceList{corev1.ResourceCPU: *cores, corev1.ResourceMemory: resource.MustParse("100Ti")}
			q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: `{"NVIDIA-H20": 100000}`}
			q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{p.class.Name: {Count: 100_000}}}
		}
		p.queues = append(p.queues, q)
	}
	add("root", "", 0)
	for d := range b.departments {
		department := fmt.Sprintf("department-%d", d)
		add(department, "root", 10*(b.granted+b.room))
		for t := range 10 {
			add(fmt.Sprintf("%s-team-%d", department, t), department, b.granted+b.room)
		}
		template := &resourceapi.ResourceClaimTemplate{ObjectMeta: p.meta(department, "one-gpu")}
		template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: p.class.Name, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
		}}}
		p.templates[department] = template
	}
}

// job returns the i-th Volcano Job of a queue. Of every four jobs, one asks for cards, and one for devices with a claim template.
func (p *controlPlane) job(queue *schedulingv1beta1.Queue, i int) *batchv1alpha1.Job {
	job := &batchv1alpha1.Job{ObjectMeta: p.meta(queue.Spec.Parent, fmt.Sprintf("%s-%d", queue.Name, i))}
	container := corev1.Container{Name: "main", Image: "registry.example.com/train:v1"}
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(coresPerPod, resource.DecimalSI)}
	pods := corev1.PodTemplateSpec{}
	switch i % 4 {
	case 1:
		requests[corev1.ResourceMemory] = resource.MustParse("16Gi")
	case 2:
		requests["nvidia.com/gpu"] = resource.MustParse("1")
		pods.Annotations = map[string]string{card.NameAnnotation: "NVIDIA-H20"}
	case 3:
		pods.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To(p.templates[job.Namespace].Name)}}
	}
	container.Resources.Requests = requests
	pods.Spec.Containers = []corev1.Container{container}
	job.Spec = batchv1alpha1.JobSpec{
		SchedulerName: "volcano", Queue: queue.Name, MinAvailable: podsPerJob,
		Tasks: []batchv1alpha1.TaskSpec{{Name: "worker", Replicas: podsPerJob, Template: pods}},
	}
	if i%10 == 0 {
		job.Spec.PriorityClassName = "high"
	}
	return job
}

// waits returns the binding of a held job.
func (p *controlPlane) waits(job *batchv1alpha1.Job) *workv1alpha2.ResourceBinding {
	rb := p.binding(job)
	rb.Annotations = map[string]string{binding.HoldAnnotation: (&binding.Hold{Reason: binding.Waiting, Queue: job.Spec.Queue}).Annotation()}
	rb.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
	return rb
}

// runs returns the binding and the Work of a job that was granted its needs.
func (p *controlPlane) runs(tb testing.TB, job *batchv1alpha1.Job) []runtime.Object {
	tb.Helper()
	rb := p.binding(job)
	rb.Annotations = map[string]string{binding.GrantAnnotation: p.grantOf(tb, job).Annotation()}
	rb.Finalizers = []string{binding.Finalizer}
	rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "east"}}
	rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "east", Applied: true}}
	work := &workv1alpha1.Work{ObjectMeta: p.meta("karmada-es-east", rb.Name)}
	work.Labels = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: rb.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]}
	return []runtime.Object{rb, work}
}

func (p *controlPlane) binding(job *batchv1alpha1.Job) *workv1alpha2.ResourceBinding {
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: p.meta(job.Namespace, job.Name+"-job")}
	rb.Labels = map[string]string{
		workv1alpha2.ResourceBindingPermanentIDLabel:     string(rb.UID),
		policyv1alpha1.PropagationPolicyPermanentIDLabel: "policy",
	}
	rb.Spec.Resource = workv1alpha2.ObjectReference{
		APIVersion: batchv1alpha1.SchemeGroupVersion.String(), Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion,
	}
	rb.Spec.Placement = &policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{
		{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1, MaxGroups: 1},
	}}
	return rb
}
