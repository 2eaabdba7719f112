// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

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
		b.Run("op=Allocatable/names="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !ssn.Allocatable(queue, task) {
					b.Fatal("the pod does not fit")
				}
			}
		})
		b.Run("op=PrePredicate/names="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := pluginOf(ssn).prePredicate(task); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("op=Predicate/names="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := pluginOf(ssn).predicate(task, ssn.Nodes["n5"]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("op=Enqueue/names=two", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if pluginOf(ssn).jobEnqueueable(job) < 0 {
				b.Fatal("the job is not admitted")
			}
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
		b.Run(fmt.Sprintf("op=SessionOpen/pods=20000/cards=%t", cards), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&plugin{cache: s.cache, arguments: readArguments(Name, nil)}).OnSessionOpen(ssn)
			}
		})
	}
}
