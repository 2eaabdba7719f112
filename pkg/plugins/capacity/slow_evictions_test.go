// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/settings"
)

// crowdedCluster has nodes with eight devices each, which queue r holds. Each node also has pods of queue r without devices. On one more node,
// queue q holds the four devices that it may have.
func crowdedCluster(nodes, crowd int) *fixture {
	s := newFixture().queue("root", "", nil).queue("q", "root", nil)
	s.queue("r", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) })
	models := map[string]string{}
	for i := range nodes + 1 {
		s.Nodes = append(s.Nodes, newFixture(1000).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
		models[s.Nodes[i].Name] = "d0 d1 d2 d3 d4 d5 d6 d7"
	}
	four := schedulingv1beta1.DeviceQuotas{"gpu": {Count: 4}}
	s.withModels(settings.AccountMatching, map[string]schedulingv1beta1.DRAQuota{"q": {Capability: four, Deserved: four}, "r": {Deserved: four}}, models)
	s.busy(nodes, 8)
	for i := range nodes * crowd {
		name := fmt.Sprint("crowd-", i)
		s.job(name, "r", running, nil, newPod(name, fmt.Sprint("n", i%nodes), cpu(1)))
	}
	for d := range 4 {
		name := fmt.Sprint("own-", d)
		s.job(name, "q", running, nil, s.asking("gpu", fmt.Sprint("d", d), newPod(name, fmt.Sprint("n", nodes), cpu(1))))
	}
	return s
}

// different adds a job of queue q whose pods ask for a device each, and are all different.
func (s *fixture) different(pods int) {
	var all []*corev1.Pod
	for i := range pods {
		p := s.asking("gpu", "", newPod(fmt.Sprint("p", i), "", cpu(1)))
		p.Labels = map[string]string{"kind": fmt.Sprint(i)}
		all = append(all, p)
	}
	s.alone("j", all...)
}

// chained adds pods of queue r without devices. Each shares a claim, which asks for nothing, with the next.
func (s *fixture) chained(pods, nodes int) {
	for i := range pods {
		p := newPod(fmt.Sprint("chained-", i), fmt.Sprint("n", i%nodes), cpu(1))
		for c := range 2 {
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint("c", c), ResourceClaimName: ptr.To(fmt.Sprint("link-", i+c))})
		}
		s.job(p.Name, "r", running, nil, p)
	}
	for c := range pods + 1 {
		name := fmt.Sprint("link-", c)
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
		claim.Status.Allocation = &resourcev1.AllocationResult{}
		for i := max(0, c-1); i < min(pods, c+1); i++ {
			user := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprint("chained-", i), UID: types.UID(fmt.Sprint("ns-chained-", i))}
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, user)
		}
		s.ResourceClaims = append(s.ResourceClaims, claim)
	}
}

// TestPodsThatAreAllDifferentShareWhatIsKnownOfVictims: the rights to evict are not determined again for each pod and each node.
func TestPodsThatAreAllDifferentShareWhatIsKnownOfVictims(t *testing.T) {
	const nodes, crowd, pods = 6, 12, 30
	s := crowdedCluster(nodes, crowd)
	s.different(pods)
	t.Cleanup(framework.CleanupPluginBuilders)
	ssn, p := s.next(s.filled(t))
	defer framework.CloseSession(ssn)
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		action.Execute(ssn)
	}
	spent, most := p.elastic.Solver().Spent(), 2*(nodes*(8+crowd)+pods*(1+2*(nodes+1))) // by each of two rules
	if searches := s.cache.elastic.Searches(); searches == 0 || spent > most {
		t.Errorf("%d searches looked at pods and places %d times, want at most %d", searches, spent, most)
	}
}

// BenchmarkSlowEvictions measures a session with unsuccessful searches for victims.
func BenchmarkSlowEvictions(b *testing.B) {
	for _, c := range []struct {
		name string
		fill func(*fixture)
	}{
		{"pods=0", func(*fixture) {}},
		{"pods=1", func(s *fixture) { s.different(1) }},
		{"pods=100", func(s *fixture) { s.different(100) }},
		{"pods=1/chain=4000", func(s *fixture) {
			s.different(1)
			s.chained(4000, 50)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := crowdedCluster(50, 30)
			c.fill(s)
			b.Cleanup(framework.CleanupPluginBuilders)
			scheduler := s.filled(b)
			for b.Loop() {
				s.cache.elastic.Clear()
				s.whole(scheduler)
			}
		})
	}
}
