// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/usage"
	"github.com/devicequota/devicequota/pkg/settings"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// jumpingClock lets time pass between the sessions of a benchmark. During a session, it shows the real time.
type jumpingClock struct {
	clock.RealClock
	ahead time.Duration
}

func (c *jumpingClock) Now() time.Time                  { return c.RealClock.Now().Add(c.ahead) }
func (c *jumpingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// largeCluster has 1,000 queues and nodes, and 10,000 pods with a device each. One more pod waits.
func largeCluster(b *testing.B) (*fixture, *schedulercache.SchedulerCache, *jumpingClock) {
	s, node := newFixture().queue("root", "", nil), newFixture(16).Nodes[0]
	quotas := map[string]schedulingv1beta1.DRAQuota{}
	for i := range 1000 {
		name := fmt.Sprint("q", i)
		s.Nodes = append(s.Nodes, node.DeepCopy())
		s.Nodes[i].Name = fmt.Sprint("n", i)
		s.queue(name, "root", capped(100))
		quotas[name] = schedulingv1beta1.DRAQuota{Capability: counts(10)}
	}
	s.withDevices(quotas)
	for i := range 1000 {
		var pods []*corev1.Pod
		for j := range 10 {
			pods = append(pods, s.claimed(1, since(newPod(fmt.Sprintf("p%d-%d", i, j), fmt.Sprint("n", i), cpu(1)), 0)))
			device := &s.ResourceClaims[len(s.ResourceClaims)-1].Status.Allocation.Devices.Results[0]
			device.Driver, device.Pool, device.Device = "gpu.example.com", fmt.Sprint("n", i), fmt.Sprint("gpu-", j)
		}
		s.job(fmt.Sprint("j", i), fmt.Sprint("q", i), running, nil, pods...)
	}
	s.job("late", "q0", inqueue, nil, s.claimed(1, newPod("late", "", cpu(1))))
	time := &jumpingClock{}
	s.cache.clock, s.cache.publisher = time, visibility.New(time)
	b.Cleanup(framework.CleanupPluginBuilders)
	return s, s.filled(b), time
}

// filled returns Volcano's cache with the objects of the fixture. Its API server has only the claims.
func (s *fixture) filled(b testing.TB) *schedulercache.SchedulerCache {
	return s.recorded(b, &record.FakeRecorder{})
}

// recorded is filled, with a recorder of events.
func (s *fixture) recorded(b testing.TB, events record.EventRecorder) *schedulercache.SchedulerCache {
	scheduler := schedulercache.NewCustomMockSchedulerCache("benchmark", util.NewFakeBinder(0), util.NewFakeEvictor(0), &util.FakeStatusUpdater{}, nil, events)
	for _, claim := range s.ResourceClaims {
		if _, err := scheduler.Client().ResourceV1().ResourceClaims(claim.Namespace).Create(b.Context(), claim, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	if len(s.ResourceSlices) > 0 {
		s.publishDevices(b, scheduler)
	}
	scheduler.Run(b.Context().Done())
	for _, node := range s.Nodes {
		must(b, scheduler.AddOrUpdateNode(node))
	}
	for _, queue := range s.Queues {
		scheduler.AddQueueV1beta1(queue)
	}
	for _, group := range s.PodGroups {
		scheduler.AddPodGroupV1beta1(group)
	}
	for _, pod := range s.Pods {
		scheduler.AddPod(pod)
		// What is remembered for a pod is forgotten unless the informer has the pod.
		must(b, scheduler.SharedInformerFactory().Core().V1().Pods().Informer().GetStore().Add(pod))
	}
	return scheduler
}

// next opens an unchanged session in which no action runs.
func (s *fixture) next(scheduler *schedulercache.SchedulerCache) (*framework.Session, *plugin) {
	tiers := s.tiers()
	uthelper.RegisterPlugins(s.Plugins)
	conf.EnabledActionMap = map[string]bool{}
	ssn := framework.OpenSession(scheduler, tiers, nil)
	return ssn, pluginOf(ssn)
}

// BenchmarkSession measures a whole session of Volcano with 1,000 queues and 10,000 pods in which nothing happens. Sessions begin a second
// apart. The share is the part of the sessions' time that recording and reporting take. Use -benchtime 60x: everything is observed every ten
// seconds.
func BenchmarkSession(b *testing.B) {
	s, scheduler, time := largeCluster(b)
	nobody, leave := context.WithCancel(b.Context())
	leave()
	for _, c := range []struct {
		name           string
		accounts, open bool
	}{{"accounting=no/page=no", false, false}, {"accounting=yes/page=no", true, false}, {"accounting=yes/page=open", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			s.cache.usage, s.cache.publisher = usage.NewRecorder(time), visibility.New(time)
			if c.accounts {
				account := accounting.New(accounting.Period(24 * 3600e9))
				account.Resume(time.Now())
				s.cache.usage.Record(account, &settings.Accounting{})
			}
			costs, all := 0.0, 0.0
			for b.Loop() {
				time.ahead += 1e9
				if c.open {
					_, _ = s.cache.publisher.After(nobody, nil)
				}
				begun := time.Now()
				ssn, p := s.next(scheduler)
				ended := time.Now()
				p.tellAskers()
				p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
				costs += time.Since(ended).Seconds()
				framework.CloseSession(ssn)
				all += time.Since(begun).Seconds()
			}
			b.ReportMetric(100*costs/all, "%share")
			b.ReportMetric(100*costs/float64(b.N), "%second")
		})
	}
}

// BenchmarkExplain measures an explanation of a waiting pod in a session of the same size.
func BenchmarkExplain(b *testing.B) {
	s, scheduler, _ := largeCluster(b)
	ssn, p := s.next(scheduler)
	defer framework.CloseSession(ssn)
	b.ReportAllocs()
	for b.Loop() {
		if told, err := p.explainer().Answer(&visibility.Question{Kind: "Pod", Namespace: "ns", Name: "late"}); err != nil || told.Cause == nil {
			b.Fatal(told, err)
		}
	}
}
