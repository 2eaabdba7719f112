// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/settings"
)

// publishDevices gives the API server of a scheduler the classes and devices of the fixture.
func (s *fixture) publishDevices(t testing.TB, scheduler *schedulercache.SchedulerCache) {
	api := scheduler.Client().ResourceV1()
	for _, class := range s.DeviceClasses {
		if _, err := api.DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, slice := range s.ResourceSlices {
		if _, err := api.ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// withRequests gives a pod a claim with these requests.
func (s *fixture) withRequests(p *corev1.Pod, requests ...resourcev1.DeviceRequest) *corev1.Pod {
	name := p.Name + "-claim"
	s.ResourceClaims = append(s.ResourceClaims, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}},
	})
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim", ResourceClaimName: ptr.To(name)}}
	return p
}

// contended returns eight requests. Two of them can only be met by the same device.
func contended() []resourcev1.DeviceRequest {
	var requests []resourcev1.DeviceRequest
	for i := range 8 {
		exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
		if i >= 6 {
			exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.attributes[%q].model == 'd7'", testDriver)}}}
		}
		requests = append(requests, resourcev1.DeviceRequest{Name: fmt.Sprint("r", i), Exactly: exactly})
	}
	return requests
}

// alternatives returns requests with alternatives of classes that no device has.
func alternatives(requests, each int) []resourcev1.DeviceRequest {
	var all []resourcev1.DeviceRequest
	for i := range requests {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		for a := range each {
			request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
				Name: fmt.Sprint("a", a), DeviceClassName: []string{"a100", h100}[a%2], AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			})
		}
		all = append(all, request)
	}
	return all
}

// selecting returns requests with selectors that are all different.
func selecting(requests, each int, format string) []resourcev1.DeviceRequest {
	var all []resourcev1.DeviceRequest
	for i := range requests {
		exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
		for j := range each {
			expression := fmt.Sprintf(format, i*each+j)
			exactly.Selectors = append(exactly.Selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
		}
		all = append(all, resourcev1.DeviceRequest{Name: fmt.Sprint("r", i), Exactly: exactly})
	}
	return all
}

// slowCluster has nodes with devices d0 to d7, and queues q and r below root.
func slowCluster(nodes int) *fixture {
	s := newFixture().queue("root", "", nil).queue("q", "root", nil).queue("r", "root", reclaimable)
	models := map[string]string{}
	for i := range nodes {
		s.Nodes = append(s.Nodes, newFixture(1000).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
		models[s.Nodes[i].Name] = "d0 d1 d2 d3 d4 d5 d6 d7"
	}
	s.withModels(settings.AccountMatching, map[string]schedulingv1beta1.DRAQuota{
		"q": {Deserved: schedulingv1beta1.DeviceQuotas{"gpu": {Count: 4}}}, "r": {Deserved: schedulingv1beta1.DeviceQuotas{"gpu": {Count: 4}}},
	}, models)
	return s
}

// alone adds a job of queue q that needs one of its pods.
func (s *fixture) alone(name string, pods ...*corev1.Pod) {
	s.job(name, "q", inqueue, nil, pods...)
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = 1
}

// busy lets pods of queue r use the first devices of the nodes.
func (s *fixture) busy(nodes, devices int) {
	for n := range nodes {
		for d := range devices {
			s.job(fmt.Sprintf("b%d-%d", n, d), "r", running, nil, s.asking("gpu", fmt.Sprint("d", d), newPod(fmt.Sprintf("b%d-%d", n, d), fmt.Sprint("n", n), cpu(1))))
		}
	}
}

// known is the number of sessions after which there is an answer for each job: a session gives turns only to some of them.
const known = 12

// BenchmarkSlowUsers measures a whole session with slow pods of one user. In the first session, nothing is known. In the other sessions,
// either nothing has changed, or a pod elsewhere has.
func BenchmarkSlowUsers(b *testing.B) {
	for _, c := range []struct {
		name  string
		nodes int
		fill  func(*fixture)
	}{
		{"job=100xcontended", 4, func(s *fixture) {
			var pods []*corev1.Pod
			for i := range 100 {
				pods = append(pods, s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), contended()...))
			}
			s.alone("j", pods...)
		}},
		{"job=100xselector", 4, func(s *fixture) {
			var pods []*corev1.Pod
			for i := range 100 {
				pods = append(pods, s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), selecting(1, 1, fmt.Sprint(1000+i)+" == %d")...))
			}
			s.alone("j", pods...)
		}},
		{"jobs=100xcontended", 4, func(s *fixture) {
			for i := range 100 {
				s.alone(fmt.Sprint("j", i), s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), contended()...))
			}
		}},
		{"pods=300/alternatives=8x8", 4, func(s *fixture) {
			for i := range 300 {
				s.alone(fmt.Sprint("j", i), s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), alternatives(8, 8)...))
			}
		}},
		{"pod=1xselectors=600", 4, func(s *fixture) {
			s.alone("j", s.withRequests(newPod("p", "", cpu(1)), selecting(20, 30, "%d < 1000")...))
		}},
		{"pods=300/selectors=long", 4, func(s *fixture) {
			for i := range 300 {
				requests := selecting(1, 1, strings.Repeat("1 == 2 || ", 385)+fmt.Sprint(i)+" < %d")
				s.alone(fmt.Sprint("j", i), s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), requests...))
			}
		}},
		{"pods=100/resources=500", 4, func(s *fixture) {
			for i := range 100 {
				requests := cpu(1)
				for name := range 500 {
					requests[corev1.ResourceName(fmt.Sprintf("example.com/made-up-%d-%d", i, name))] = *resource.NewQuantity(1, resource.DecimalSI)
				}
				s.alone(fmt.Sprint("j", i), newPod(fmt.Sprint("p", i), "", requests))
			}
		}},
		{"pods=100xclaims=64/requests=32x8", 4, func(s *fixture) {
			var references []corev1.PodResourceClaim
			for i := range 64 {
				reference := s.withRequests(newPod(fmt.Sprint("p", i), "", nil), alternatives(32, 8)...).Spec.ResourceClaims[0]
				reference.Name = fmt.Sprint("c", i)
				references = append(references, reference)
			}
			for i := range 100 {
				p := newPod(fmt.Sprint("p", i), "", cpu(1))
				p.Spec.ResourceClaims = references
				s.alone(fmt.Sprint("j", i), p)
			}
		}},
		{"nodes=100/pod=1xselectors=288", 100, func(s *fixture) {
			s.alone("j", s.withRequests(newPod("p", "", cpu(1)), selecting(9, 32, "%d < 1000")...))
		}},
		{"nodes=100/pods=30/selectors=failing", 100, func(s *fixture) {
			for i := range 30 {
				s.alone(fmt.Sprint("j", i), s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), selecting(8, 1, "%d == 7 ? device.attributes['none'].none : true")...))
			}
		}},
		{"gangs=300", 4, func(s *fixture) {
			s.busy(4, 8)
			for i := range 300 {
				s.job(fmt.Sprint("j", i), "q", inqueue, nil, s.asking("gpu", "", newPod(fmt.Sprintf("p%d-0", i), "", cpu(1))),
					s.withRequests(newPod(fmt.Sprintf("p%d-1", i), "", cpu(1)), alternatives(8, 8)...))
			}
		}},
	} {
		for _, state := range []string{"first", "unchanged", "changed"} {
			b.Run(c.name+"/session="+state, func(b *testing.B) {
				s := slowCluster(c.nodes)
				s.job("elsewhere", "r", running, nil, newPod("elsewhere", "n3", cpu(1)))
				c.fill(s)
				b.Cleanup(framework.CleanupPluginBuilders)
				scheduler := s.filled(b)
				for range map[string]int{"first": 0, "unchanged": known, "changed": known}[state] {
					s.whole(scheduler)
				}
				n := 0
				for b.Loop() {
					b.StopTimer()
					if state == "changed" {
						n++
						old := s.Pods[0]
						for _, p := range s.Pods {
							if p.Name == "elsewhere" {
								old = p
							}
						}
						fresh := old.DeepCopy()
						fresh.UID, fresh.ResourceVersion = types.UID(fmt.Sprint("elsewhere-", n)), fmt.Sprint(n)
						scheduler.DeletePod(old)
						scheduler.AddPod(fresh)
						*old = *fresh
					}
					if state == "first" {
						s.cache.elastic = elastic.NewCache()
						s.cache.devices = nil
					}
					b.StartTimer()
					s.whole(scheduler)
				}
			})
		}
	}
}

// whole runs a session with all actions of this plugin.
func (s *fixture) whole(scheduler *schedulercache.SchedulerCache) {
	ssn, _ := s.next(scheduler)
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		action.Execute(ssn)
	}
	framework.CloseSession(ssn)
}

// patience is the context of a user who asks. It reports when the question has arrived.
type patience struct {
	context.Context
	arrived *sync.WaitGroup
}

// Done implements context.Context. Each asker waits for it once, after asking.
func (p patience) Done() <-chan struct{} {
	p.arrived.Done()
	return p.Context.Done()
}

// BenchmarkEqualQuestions measures a session when 64 users ask about the same pod.
func BenchmarkEqualQuestions(b *testing.B) {
	s := slowCluster(4)
	var pods []*corev1.Pod
	for i := range 10 {
		pods = append(pods, s.withRequests(newPod(fmt.Sprint("p", i), "", cpu(1)), contended()...))
	}
	s.alone("j", pods...)
	b.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(b)
	ssn, _ := s.next(scheduler)
	defer framework.CloseSession(ssn)
	plugins := &Plugins{cache: s.cache}
	for b.Loop() {
		b.StopTimer()
		var arrived, asked sync.WaitGroup
		ctx, cancel := context.WithCancel(b.Context())
		arrived.Add(64)
		for range 64 {
			asked.Go(func() { _, _ = plugins.Publisher().Explain(patience{ctx, &arrived}, "Pod", "ns", "p0") })
		}
		arrived.Wait()
		b.StartTimer()
		plugins.Answer(ssn)
		b.StopTimer()
		cancel()
		asked.Wait()
		b.StartTimer()
	}
}
