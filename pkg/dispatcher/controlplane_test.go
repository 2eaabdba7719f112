// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubefake "k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/quota"
)

// backlog is the size of a control plane.
type backlog struct {
	// departments is the number of queues below root. Each has ten queues of teams below it.
	departments int
	// held and granted are the numbers of workloads in each team's queue. Room is for how many more it has room.
	held, granted, room int
}

// controlPlane is a Karmada control plane of fake clients with its leading dispatcher.
type controlPlane struct {
	*leader
	kube    *kubefake.Clientset
	karmada *karmadafake.Clientset
	volcano *volcanofake.Clientset
	api     *queuefake.Clientset

	queues    []*schedulingv1beta1.Queue
	class     *resourceapi.DeviceClass
	templates map[string]*resourceapi.ResourceClaimTemplate
	counter   *needs.Counter
	objects   int
}

// Claim implements dra.ClaimReader. There are no claims.
func (*controlPlane) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

// ClaimTemplate implements dra.ClaimReader.
func (p *controlPlane) ClaimTemplate(namespace, _ string) (*resourceapi.ResourceClaimTemplate, error) {
	return p.templates[namespace], nil
}

// ExtendedClaim implements dra.ClaimReader.
func (*controlPlane) ExtendedClaim(*corev1.Pod) *resourceapi.ResourceClaim { return nil }

// LostClaims implements dra.ClaimReader.
func (*controlPlane) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }

// newControlPlane returns a control plane after the dispatcher has read it.
func newControlPlane(tb testing.TB, arguments string, b backlog) *controlPlane {
	tb.Helper()
	p := &controlPlane{
		class:     &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}},
		templates: map[string]*resourceapi.ResourceClaimTemplate{}, counter: needs.New(),
	}
	shared := []runtime.Object{p.class, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}}
	p.addQueues(b)
	for _, template := range p.templates {
		shared = append(shared, template)
	}
	p.counter.Begin(needs.Inputs{Queues: p.queues, Classes: []*resourceapi.DeviceClass{p.class}, Claims: p})
	karmada := []runtime.Object{
		&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "west"}},
	}
	var jobs, queues []runtime.Object
	for _, queue := range p.queues {
		queues = append(queues, queue)
		if queue.Spec.Parent == "" || queue.Spec.Parent == quota.Root {
			continue
		}
		for i := range b.granted + b.held {
			job := p.job(queue, i)
			jobs = append(jobs, job)
			if i < b.granted {
				karmada = append(karmada, p.runs(tb, job)...)
			} else {
				karmada = append(karmada, p.waits(job))
			}
		}
	}
	p.kube, p.karmada = kubefake.NewSimpleClientset(shared...), karmadafake.NewSimpleClientset(karmada...)
	p.volcano, p.api = volcanofake.NewSimpleClientset(jobs...), queuefake.NewSimpleClientset(queues...)
	p.kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: batchv1alpha1.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{{Kind: "Job"}}},
		{GroupVersion: resourceapi.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{{Kind: "DeviceClass"}, {Kind: "ResourceClaimTemplate"}}},
	}
	p.lead(tb, arguments)
	return p
}

// lead starts a leading dispatcher, and returns when it has read everything.
func (p *controlPlane) lead(tb testing.TB, arguments string) {
	tb.Helper()
	config, err := framework.ParseConfig(fmt.Appendf(nil, "tiers: [{plugins: [{name: priority}, {name: capacity, arguments: {%s}}]}]", arguments))
	if err != nil {
		tb.Fatal(err)
	}
	clients := &cache.Clients{
		Kubernetes: p.kube, Karmada: p.karmada, Volcano: p.volcano, Queues: p.api,
		Metadata: newMetadata(tb, slices.Collect(maps.Values(p.templates))...),
	}
	c, err := cache.New(clients, config)
	if err != nil {
		tb.Fatal(err)
	}
	metrics, err := report.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		tb.Fatal(err)
	}
	d := &Dispatcher{cache: c, clients: clients, config: config, period: time.Second, metrics: metrics}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	events := report.StartEvents(ctx, p.kube)
	queues := report.StartQueueWriter(ctx, p.api.SchedulingV1beta1().Queues(), c.Queues(), metrics, c.HidesDRA)
	tb.Cleanup(func() {
		cancel()
		<-ended
		events.Shutdown()
		queues.Shutdown()
	})
	if err := c.WaitForSync(ctx); err != nil {
		tb.Fatal(err)
	}
	awaitWatch(tb, &p.karmada.Fake, "resourcebindings")
	awaitWatch(tb, &p.karmada.Fake, "works")
	awaitWatch(tb, &p.volcano.Fake, "jobs")
	p.leader = &leader{Dispatcher: d, memory: newMemory(), renewed: func(time.Duration) bool { return true }, reporter: report.New(events, queues, metrics)}
}

// meta returns the metadata of a new object.
func (p *controlPlane) meta(namespace, name string) metav1.ObjectMeta {
	p.objects++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: uid(p.objects), ResourceVersion: strconv.Itoa(p.objects),
		CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(p.objects) * time.Second)),
	}
}

// grantOf returns the grant of everything that a job needs.
func (p *controlPlane) grantOf(tb testing.TB, job *batchv1alpha1.Job) *binding.Grant {
	tb.Helper()
	template, err := workload.Of(job, nil)
	if err != nil {
		tb.Fatal(err)
	}
	needed := p.counter.Of(template, framework.Spread{Copies: 1}, nil)
	if needed.Err != nil {
		tb.Fatal(needed.Err)
	}
	return &binding.Grant{Queue: job.Spec.Queue, Time: metav1.NewTime(noon), Amounts: needs.ToGrant(p.counter.Dimensions(), needed.Needs.All)}
}

// awaitWatch waits until a fake API server is watched for a resource. It does not send changes between an informer's list and its watch.
func awaitWatch(tb testing.TB, api *k8stesting.Fake, resource string) {
	tb.Helper()
	err := wait.PollUntilContextTimeout(tb.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return slices.ContainsFunc(api.Actions(), func(a k8stesting.Action) bool { return a.Matches("watch", resource) }), nil
	})
	if err != nil {
		tb.Fatalf("%s are not watched: %v", resource, err)
	}
}
