// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"volcano.sh/apis/pkg/apis/scheduling"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/lastvalid"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// fixture is the input of a snapshot. Node n1 has cards A.
type fixture struct {
	testing.TB
	cache *Cache
	input Input
	// objects are the queues read from the API server. pods are the pods.
	objects, pods toolscache.Indexer
}

func TestMain(m *testing.M) {
	options.Default() // the name of the scheduler
	os.Exit(m.Run())
}

func newFixture(t testing.TB) *fixture {
	fleet := &card.Fleet{}
	fleet.Set("n1", card.Node{Model: "A", Offers: []card.Offer{{Resource: gpu, Card: "A", Count: 8}}})
	f := &fixture{
		TB: t, cache: NewCache(fleet), objects: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{}),
		pods: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}),
	}
	f.input = Input{
		Jobs: map[api.JobID]*api.JobInfo{}, Queues: map[api.QueueID]*api.QueueInfo{}, Total: api.NewResource(list("cpu=100 nvidia.com/gpu=8")), Hierarchy: true,
		Quotas: lastvalid.New(schedulinglisters.NewQueueLister(f.objects)), Pods: corelisters.NewPodLister(f.pods), Claims: devices.ClaimReader{},
	}
	f.queue("root", "")
	return f
}

func list(words string) corev1.ResourceList {
	resources := corev1.ResourceList{}
	for word := range strings.FieldsSeq(words) {
		name, number, _ := strings.Cut(word, "=")
		resources[corev1.ResourceName(name)] = resource.MustParse(number)
	}
	return resources
}

// queue adds an open queue, and its object in the API server.
func (f *fixture) queue(name, parent string, change ...func(*scheduling.Queue, *schedulingv1beta1.Queue)) *fixture {
	f.Helper()
	queue := &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: scheduling.QueueSpec{Parent: parent},
		Status: scheduling.QueueStatus{State: scheduling.QueueStateOpen},
	}
	object := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	for _, change := range change {
		change(queue, object)
	}
	if err := f.objects.Add(object); err != nil {
		f.Fatal(err)
	}
	f.input.Queues[api.QueueID(name)] = api.NewQueueInfo(queue)
	return f
}

func deserves(words string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(queue *scheduling.Queue, _ *schedulingv1beta1.Queue) { queue.Spec.Deserved = list(words) }
}

// quotaOf sets the card annotation, and the number of devices of class h100.
func quotaOf(cards string, devices int64) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
		if cards != "" {
			object.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: cards}
		}
		object.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: devices}}}
	}
}

// job adds a job with a pod of the same name. The pod waits if it has no node.
func (f *fixture) job(name, queue, node, requests string) *api.TaskInfo {
	pod := podObject(name, node, requests)
	if err := f.pods.Add(pod); err != nil {
		f.Fatal(err)
	}
	task := api.NewTaskInfo(pod)
	job := api.NewJobInfo(task.Job, task)
	job.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: scheduling.PodGroupSpec{Queue: queue, MinMember: 1},
		Status: scheduling.PodGroupStatus{Phase: scheduling.PodGroupInqueue},
	}})
	f.input.Jobs[job.UID] = job
	return task
}

func podObject(name, node, requests string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{upstreamv1beta1.KubeGroupNameAnnotationKey: name},
		},
		Spec:   corev1.PodSpec{SchedulerName: "volcano", NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(requests)}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if node != "" {
		pod.Status.Phase = corev1.PodRunning
	}
	return pod
}

func (f *fixture) take() *Snapshot {
	f.cache.Configure(demand.Options{}, demand.Serving{})
	return f.cache.Take(f.input)
}
