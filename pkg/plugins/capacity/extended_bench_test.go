// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkExtendedSession measures a session with five thousand pods on a thousand nodes. Half of the pods wait. They request only cpu, or an
// extended resource that a class offers and that device plugins or DRA serve.
func BenchmarkExtendedSession(b *testing.B) {
	for _, world := range []string{"none", "plugin", "dra"} {
		s := extendedCluster(world)
		ssn := s.open(b)
		b.Run("op=SessionOpen/pods=5000/served="+world, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&plugin{cache: s.cache, arguments: readArguments(Name, s.arguments)}).OnSessionOpen(ssn)
			}
		})
		task, node := taskOf(ssn, "p2500"), ssn.Nodes["n7"]
		b.Run("op=Predicate/served="+world, func(b *testing.B) {
			if err := pluginOf(ssn).prePredicate(task); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := pluginOf(ssn).predicate(task, node); err != nil {
					b.Fatal(err)
				}
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
