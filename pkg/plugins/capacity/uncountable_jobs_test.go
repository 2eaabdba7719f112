// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/settings"
)

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
	one := schedulingv1beta1.DeviceQuotas{h100: {Count: 1}, "a100": {Count: 1}}
	s.withModels(settings.AccountRequested, map[string]schedulingv1beta1.DRAQuota{"q": {Capability: one, Deserved: one}}, map[string]string{"n1": "h100 a100"})
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "uid"}, Spec: batchv1alpha1.JobSpec{Queue: "q", MinAvailable: math.MaxInt32}}
	job.Spec.Tasks = []batchv1alpha1.TaskSpec{{Name: "t", Replicas: math.MaxInt32}}
	for _, name := range []string{"few", "many"} {
		job.Spec.Tasks[0].Template.Spec.ResourceClaims = append(job.Spec.Tasks[0].Template.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: ptr.To(name)})
	}
	s.job("j", "q", pending, nil)
	s.PodGroups[0].Spec.MinMember = math.MaxInt32
	s.PodGroups[0].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)}
	known := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	if err := known.Add(job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	for _, template := range []*resourcev1.ResourceClaimTemplate{choosingTemplate("few", 1), choosingTemplate("many", math.MaxInt64-32)} {
		if _, err := scheduler.Client().ResourceV1().ResourceClaimTemplates("ns").Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := s.next(scheduler) // starts the informers that the lister replaces
	framework.CloseSession(first)
	s.cache.jobs = batchlisters.NewJobLister(known)
	ssn, _ := s.next(scheduler)
	defer framework.CloseSession(ssn)
	conf.EnabledActionMap = map[string]bool{"reclaim": true}
	t.Cleanup(func() { conf.EnabledActionMap = map[string]bool{} })
	if ssn.JobEnqueueable(ssn.Jobs[api.JobID("ns/j")]) {
		t.Error("the job is admitted")
	}
}
