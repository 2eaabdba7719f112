// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/demand"
)

// BenchmarkManyAlternatives filters ten nodes for each of a hundred waiting pods. The pods have four claims of 31 requests with
// eight alternatives each. The nodes lack the devices, or the quota refuses them. Either the session is the first one, or it knows
// the answers of earlier sessions.
func BenchmarkManyAlternatives(b *testing.B) {
	for _, lack := range []struct{ what, devices, quota string }{
		{what: "devices", devices: "h100"},
		{what: "quota", devices: strings.Repeat("h100 a100 ", 62), quota: "h100=1 a100=1"},
	} {
		has := cluster{devices: map[string]string{}, quotas: map[string]string{"q": lack.quota}}
		for n := range 10 {
			has.devices[fmt.Sprint("n", n)] = lack.devices
		}
		claims := map[string][]string{}
		for p := range 100 {
			pod := fmt.Sprint("p", p)
			for c := range 4 {
				name := fmt.Sprintf("c%d-%s", c, pod)
				claims[pod] = append(claims[pod], name)
				has.claims = append(has.claims, large(name, 31, 1, "h100", "a100"))
			}
		}
		f := newFixture(b, has)
		for _, remembered := range []bool{false, true} {
			b.Run(fmt.Sprintf("pods=100/nodes=10/lack=%s/remembered=%t", lack.what, remembered), func(b *testing.B) {
				b.ReportAllocs()
				for session := 0; remembered && session < 30; session++ { // later sessions find out what one session does not
					f.filterAll(f.waiting(claims))
				}
				for b.Loop() {
					b.StopTimer()
					if !remembered {
						clear(f.cache.memory.known)
					}
					pods := f.waiting(claims)
					b.StartTimer()
					f.filterAll(pods)
				}
			})
		}
	}
}

// waiting opens a session with pods.
func (f *fixture) waiting(claims map[string][]string) []*demand.Pod {
	f.open()
	var pods []*demand.Pod
	for name, claims := range claims {
		pods = append(pods, f.pod(name, "q", claims...))
	}
	return pods
}

func (f *fixture) filterAll(pods []*demand.Pod) {
	for _, pod := range pods {
		state := f.preFilter(pod)
		for n := range 10 {
			if f.session.Filter(state, f.node(fmt.Sprint("n", n))) == nil {
				f.Fatal("a node is suitable")
			}
		}
	}
}
