// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	ourv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/settings"
)

// cores is a list with a cpu quantity that Volcano cannot count.
func cores(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
}

func TestPodsCountAsAWhole(t *testing.T) {
	s := newFixture(100).queue("root", "", nil).queue("q", "root", capped(4))
	var pods []*corev1.Pod
	for i := range 3 {
		pod := newPod(fmt.Sprint("p", i), "", nil)
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu(2)}
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		s.job(pod.Name, "q", inqueue, nil, pod)
	}
	ssn := s.act(t)
	bound := 0
	for _, pod := range pods {
		if taskOf(ssn, pod.Name).NodeName != "" {
			bound++
		}
	}
	if bound != 2 {
		t.Errorf("%d pods of 2 cores are bound in a queue of 4", bound)
	}
}

// Volcano counts 4Ei cores as none, and 8Ei as -1 thousandth. 1e999999999 takes it minutes.
func TestWhatCannotBeCountedIsRefused(t *testing.T) {
	for _, quantity := range []string{"4Ei", "8Ei", "99999999999999999999", "1e999999999"} {
		t.Run(quantity, func(t *testing.T) {
			message := "The demand cannot be counted against the quota of the queue: it requests <" + quantityText(quantity) + "> of cpu, which is more than can be counted: request less"
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
			whole := newPod("whole", "", nil)
			whole.Spec.Resources = &corev1.ResourceRequirements{Requests: cores(quantity)}
			s.job("container", "q", inqueue, nil, newPod("container", "", cores(quantity)))
			s.job("whole", "q", inqueue, nil, whole)
			s.job("minimum", "q", pending, cores(quantity), newPod("minimum", "", cpu(1)))
			s.job("other", "q", pending, cpu(1), newPod("other", "", cpu(1)))
			ssn := s.act(t)
			for _, name := range []string{"container", "whole"} {
				task := taskOf(ssn, name)
				refusal := pluginOf(ssn).checks.Pod(pluginOf(ssn).snapshot.Ledger, ssn.Queues["q"], task)
				if task.NodeName != "" || refusal == nil || refusal.Message() != message {
					t.Errorf("pod %s is on node %q, refused: %v", name, task.NodeName, refusal)
				}
			}
			if got := phaseOf(ssn, "minimum"); got != string(pending) {
				t.Errorf("the job is %s", got)
			}
			if refusal := pluginOf(ssn).refuseJob(ssn.Jobs["ns/minimum"]); refusal == nil || refusal.Message() != message {
				t.Errorf("the job is refused: %v", refusal)
			}
			if taskOf(ssn, "other").NodeName == "" {
				t.Error("another pod waits")
			}
		})
	}
}

func quantityText(quantity string) string {
	parsed := resource.MustParse(quantity)
	return parsed.String()
}

// TestAQuotaThatCannotBeCountedIsNoLimit: Volcano counts 4Ei devices as none.
func TestAQuotaThatCannotBeCountedIsNoLimit(t *testing.T) {
	unlimited := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4Ei"), "nvidia.com/gpu": resource.MustParse("4Ei")}
	s := newFixture(8).queue("root", "", func(q *schedulingv1beta1.QueueSpec) { q.Capability = unlimited })
	s.queue("q", "root", func(q *schedulingv1beta1.QueueSpec) { q.Capability = unlimited })
	s.job("j", "q", pending, gpu(2), newPod("p", "", gpu(2)))
	if ssn := s.act(t); taskOf(ssn, "p").NodeName == "" {
		t.Error("the pod waits")
	}
}

// TestNobodyIsEvictedForWhatCannotBeCounted: no queue accepts the pod. Volcano would also spell out its requests for each node, in quadratic time.
func TestNobodyIsEvictedForWhatCannotBeCounted(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	unknown := cpu(1)
	unknown["example.com/made-up"] = resource.MustParse("1")
	s.job("unknown", "q", inqueue, nil, newPod("unknown", "", unknown))
	s.job("known", "q", inqueue, nil, newPod("known", "", cpu(100)))
	p := pluginOf(s.open(t))
	p.searches = elastic.NewSearches(nil, 1)
	if err := p.prePredicate(taskOf(p.session, "unknown")); err == nil {
		t.Error("victims may be looked for")
	}
	if err := p.prePredicate(taskOf(p.session, "known")); err != nil {
		t.Errorf("no victims may be looked for: %v", err)
	}
}

// choosingTemplate is a template of a claim with 32 requests, each for devices of either of two classes. All requests have
// different counts.
func choosingTemplate(name string, least int64) *resourcev1.ResourceClaimTemplate {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for i := range 32 {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		for _, class := range []string{h100, "a100"} {
			request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
				Name: class, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: least + int64(i),
			})
		}
		template.Spec.Spec.Devices.Requests = append(template.Spec.Spec.Devices.Requests, request)
	}
	return template
}

// TestAJobWhoseAlternativesCannotBeAddedUpIsRefused: no combination of its alternatives can be counted, and there are too many to try.
func TestAJobWhoseAlternativesCannotBeAddedUpIsRefused(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	one := ourv1beta1.DeviceQuotas{h100: {Count: 1}, "a100": {Count: 1}}
	s.withModels(settings.AccountRequested, map[string]ourv1beta1.DRAQuota{"q": {Capability: one, Deserved: one}}, map[string]string{"n1": "h100 a100"})
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "uid"}, Spec: batchv1alpha1.JobSpec{Queue: "q", MinAvailable: math.MaxInt32}}
	job.Spec.Tasks = []batchv1alpha1.TaskSpec{{Name: "t", Replicas: math.MaxInt32}}
	for _, name := range []string{"few", "many"} {
		job.Spec.Tasks[0].Template.Spec.ResourceClaims = append(job.Spec.Tasks[0].Template.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: ptr.To(name)})
	}
	s.job("j", "q", pending, nil)
	s.PodGroups[0].Spec.MinMember = math.MaxInt32
	s.PodGroups[0].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)}
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	for _, template := range []*resourcev1.ResourceClaimTemplate{choosingTemplate("few", 1), choosingTemplate("many", math.MaxInt64-32)} {
		if _, err := scheduler.Client().ResourceV1().ResourceClaimTemplates("ns").Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := s.next(scheduler) // starts the informers that the lister replaces
	framework.CloseSession(first)
	s.cache.jobs = jobsOf(t, job)
	ssn, _ := s.next(scheduler)
	defer framework.CloseSession(ssn)
	conf.EnabledActionMap = map[string]bool{"reclaim": true}
	t.Cleanup(func() { conf.EnabledActionMap = map[string]bool{} })
	if ssn.JobEnqueueable(ssn.Jobs[api.JobID("ns/j")]) {
		t.Error("the job is admitted")
	}
}
