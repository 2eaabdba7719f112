// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/settings"
)

// BenchmarkDeviceSession measures the start of a session with four thousand allocated claims, for each kind of device
// accounting. Either nothing has changed, or the scheduler has just started: then it counts every claim for the first time.
func BenchmarkDeviceSession(b *testing.B) {
	for _, accounting := range []string{settings.AccountRequested, settings.AccountMatching} {
		s := deviceCluster(accounting)
		ssn := s.open(b)
		for _, started := range []bool{false, true} {
			b.Run(fmt.Sprintf("op=SessionOpen/claims=4000/accounting=%s/started=%t", accounting, started), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if started {
						s.cache.snapshots = snapshot.NewCache(&s.cache.cards.Fleet)
						s.cache.snapshots.StartCatchUp(s.cache.clock)
						s.cache.devices.Matcher().Use(nil, nil)
					}
					(&plugin{cache: s.cache, arguments: readArguments(Name, s.arguments)}).OnSessionOpen(ssn)
				}
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
