// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/settings"
)

// measure runs a benchmark that counts allocations.
func measure(b *testing.B, name string, do func(*testing.B)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(b)
		}
	})
}

// BenchmarkCards measures a pod that asks for cards, compared to a pod that does not. The parent of its queue has a quota of five models.
func BenchmarkCards(b *testing.B) {
	const quota = `{"M1": 1000, "M2": 1000, "M3": 1000, "M4": 1000, "M5": 1000}`
	s := newFixture(64, 64, 64, 64, 64).queue("root", "", nil).queue("parent", "root", nil).queue("q", "parent", nil)
	for i := range s.Nodes {
		s.model(i+1, fmt.Sprint("M", i+1))
	}
	plain := newPod("none", "", cpu(1))
	s.withCards(map[string]string{"parent": quota, "q": quota})
	s.job("j", "q", inqueue, nil, plain, gpuPod("one", "", 1, "M5"), gpuPod("two", "", 1, "M5|M4"), gpuPod("any", "", 1, ""))
	s.job("k", "q", scheduling.PodGroupPending, cpu(1), gpuPod("let-in", "", 1, "M5|M4"))
	ssn := s.open(b)
	queue, job := ssn.Queues["q"], ssn.Jobs["ns/k"]
	for _, name := range []string{"none", "one", "two", "any"} {
		task := taskOf(ssn, name)
		measure(b, "op=Allocatable/names="+name, func(b *testing.B) {
			if !ssn.Allocatable(queue, task) {
				b.Fatal("the pod does not fit")
			}
		})
		measure(b, "op=PrePredicate/names="+name, func(b *testing.B) { must(b, pluginOf(ssn).prePredicate(task)) })
		measure(b, "op=Predicate/names="+name, func(b *testing.B) { must(b, pluginOf(ssn).predicate(task, ssn.Nodes["n5"])) })
	}
	measure(b, "op=Enqueue/names=two", func(b *testing.B) {
		if pluginOf(ssn).jobEnqueueable(job) < 0 {
			b.Fatal("the job is not admitted")
		}
	})
}

// BenchmarkCardSession measures the start of an unchanged session with twenty thousand running pods. All of them have a card, or none has.
func BenchmarkCardSession(b *testing.B) {
	for _, cards := range []bool{false, true} {
		s := newFixture().queue("root", "", nil).queue("q", "root", nil)
		for i := range 100 {
			s.Nodes = append(s.Nodes, newFixture(1_000).Nodes...)
			s.Nodes[i].Name = fmt.Sprint("n", i)
			s.Nodes[i].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("200")
			s.Nodes[i].Status.Allocatable["pods"] = resource.MustParse("200")
			if s.model(i+1, fmt.Sprint("M", i%5)); !cards {
				s.Nodes[i].Labels = nil
			}
		}
		s.withCards(map[string]string{"q": `{"M0": 100000, "M1": 100000, "M2": 100000, "M3": 100000, "M4": 100000}`})
		for j := range 2_000 {
			var pods []*corev1.Pod
			for i := range 10 {
				pods = append(pods, gpuPod(fmt.Sprintf("p%d-%d", j, i), fmt.Sprint("n", j%100), 1, ""))
			}
			s.job(fmt.Sprint("j", j), "q", running, nil, pods...)
		}
		ssn := s.open(b)
		measure(b, fmt.Sprintf("op=SessionOpen/pods=20000/cards=%t", cards), func(*testing.B) {
			(&plugin{cache: s.cache, arguments: readArguments(Name, nil)}).OnSessionOpen(ssn)
		})
	}
}

// BenchmarkDeviceSession measures the start of a session with four thousand allocated claims, for each kind of device
// accounting. Either nothing has changed, or the scheduler has just started: then it counts every claim for the first time.
func BenchmarkDeviceSession(b *testing.B) {
	for _, accounting := range []string{settings.AccountRequested, settings.AccountMatching} {
		s := deviceCluster(accounting)
		ssn := s.open(b)
		for _, started := range []bool{false, true} {
			measure(b, fmt.Sprintf("op=SessionOpen/claims=4000/accounting=%s/started=%t", accounting, started), func(b *testing.B) {
				if started {
					s.cache.snapshots = snapshot.NewCache(&s.cache.cards.Fleet)
					s.cache.snapshots.StartCatchUp(s.cache.clock)
					s.cache.devices.Matcher().Use(nil, nil)
				}
				(&plugin{cache: s.cache, arguments: readArguments(Name, s.arguments)}).OnSessionOpen(ssn)
			})
		}
	}
}

// deviceCluster has a hundred nodes with forty devices each, all used by pods.
func deviceCluster(accounting string) *fixture {
	s := newFixture().queue("root", "", nil).queue("q", "root", nil)
	models := map[string]string{}
	for i := range 100 {
		s.Nodes = append(s.Nodes, newFixture(1_000).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
		s.Nodes[i].Status.Allocatable["pods"] = resource.MustParse("200")
		var names []string
		for d := range 40 {
			names = append(names, fmt.Sprint("d", d))
		}
		models[s.Nodes[i].Name] = strings.Join(names, " ")
	}
	limits := capability(map[string]int64{h100: 10_000, "a100": 10_000, "gpu": 10_000})
	s.withModels(accounting, map[string]schedulingv1beta1.DRAQuota{"q": limits}, models)
	for j := range 400 {
		var pods []*corev1.Pod
		for i := range 10 {
			n := j*10 + i
			pods = append(pods, s.asking("gpu", fmt.Sprint("d", n/100), newPod(fmt.Sprint("p", n), fmt.Sprint("n", n%100), cpu(1))))
		}
		s.job(fmt.Sprint("j", j), "q", running, nil, pods...)
	}
	return s
}

// BenchmarkExtendedSession measures a session with five thousand pods on a thousand nodes. Half of the pods wait. They request only cpu, or an
// extended resource that a class offers and that device plugins or DRA serve.
func BenchmarkExtendedSession(b *testing.B) {
	for _, world := range []string{"none", "plugin", "dra"} {
		s := extendedCluster(world)
		ssn := s.open(b)
		measure(b, "op=SessionOpen/pods=5000/served="+world, func(*testing.B) {
			(&plugin{cache: s.cache, arguments: readArguments(Name, s.arguments)}).OnSessionOpen(ssn)
		})
		task, node := taskOf(ssn, "p2500"), ssn.Nodes["n7"]
		b.Run("op=Predicate/served="+world, func(b *testing.B) {
			must(b, pluginOf(ssn).prePredicate(task))
			b.ReportAllocs()
			for b.Loop() {
				must(b, pluginOf(ssn).predicate(task, node))
			}
		})
	}
}

func extendedCluster(world string) *fixture {
	s := newFixture().queue("root", "", nil).queue("q", "root", nil)
	var names []string
	for i := range 1000 {
		s.Nodes = append(s.Nodes, newFixture(8).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
		s.Nodes[i].Status.Allocatable["pods"] = resource.MustParse("200")
		names = append(names, s.Nodes[i].Name)
	}
	s.withDevices(nil)
	switch world {
	case "plugin":
		s.offered(0)
	case "dra":
		s.offered(8, names...)
	}
	for j := range 500 {
		var pods []*corev1.Pod
		for i := range 10 {
			n, node := j*10+i, ""
			if n < 2500 && world != "dra" {
				node = names[n%1000]
			}
			requests := gpu(1)
			if world == "none" {
				requests = cpu(1)
			}
			pods = append(pods, newPod(fmt.Sprint("p", n), node, requests))
		}
		phase := inqueue
		if j < 250 {
			phase = running
		}
		s.job(fmt.Sprint("j", j), "q", phase, nil, pods...)
	}
	return s
}
