// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/settings"
)

// halves splits the devices of node n0 into a left and a right half of these sizes.
func (s *fixture) halves(left, right int) {
	slice := s.ResourceSlices[0]
	slice.Spec.Devices = nil
	for i := range left + right {
		half := "left"
		if i >= left {
			half = "right"
		}
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprint("d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"half": {StringValue: ptr.To(half)}},
		})
	}
}

// puzzled gives a pod a claim for devices of the same half. No other pod has the same claim.
func (s *fixture) puzzled(p *corev1.Pod, devices int) *corev1.Pod {
	s.withRequests(p, resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(devices),
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("%q != ''", p.Name)}}},
	}})
	claim := s.ResourceClaims[len(s.ResourceClaims)-1]
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName(testDriver + "/half"))}}
	return p
}

// statusAfter runs a session, and returns the status of a pod in it.
func (s *fixture) statusAfter(t *testing.T, scheduler *schedulercache.SchedulerCache, pod string) string {
	t.Helper()
	ssn, _ := s.next(scheduler)
	defer framework.CloseSession(ssn)
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		action.Execute(ssn)
	}
	_, spent := s.cache.devices.SearchBudget().Used()
	if spent > dra.BudgetOfSession {
		t.Errorf("the session spends %d", spent)
	}
	return taskOf(ssn, pod).Status.String()
}

// TestAnHonestPodDoesNotWaitForThoseThatTakeLong: it is the last of 201.
func TestAnHonestPodDoesNotWaitForThoseThatTakeLong(t *testing.T) {
	s := slowCluster(1)
	s.halves(9, 9)
	for i := range 200 {
		s.alone(fmt.Sprintf("j%03d", i), s.puzzled(newPod(fmt.Sprint("p", i), "", cpu(1)), 10))
	}
	s.alone("z", s.asking("gpu", "", newPod("honest", "", cpu(1))))
	t.Cleanup(framework.CleanupPluginBuilders)
	if got := s.statusAfter(t, s.filled(t), "honest"); !strings.Contains("Binding Allocated Bound", got) {
		t.Errorf("the pod is %s", got)
	}
}

// TestAnExpensivePodThatFitsGetsItsTurn behind others that never fit.
func TestAnExpensivePodThatFitsGetsItsTurn(t *testing.T) {
	s := slowCluster(1)
	s.halves(7, 8)
	for i := range 12 {
		s.alone(fmt.Sprintf("j%03d", i), s.puzzled(newPod(fmt.Sprint("p", i), "", cpu(1)), 9))
	}
	s.alone("z", s.puzzled(newPod("fits", "", cpu(1)), 8))
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	for range 20 {
		if got := s.statusAfter(t, scheduler, "fits"); strings.Contains("Binding Allocated Bound", got) {
			return
		}
	}
	t.Error("the pod has no node after 20 sessions")
}

// crowdedCluster has nodes with eight devices each, which queue r holds. Each node also has pods of queue r without devices. On one more node,
// queue q holds the four devices that it may have.
func crowdedCluster(nodes, crowd int) *fixture {
	s := newFixture().queue("root", "", nil).queue("q", "root", nil).queue("r", "root", reclaimable)
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
	const nodes, crowd, pods, asks = 6, 12, 30, 4 // a pod that asks for a place counts four times
	s := crowdedCluster(nodes, crowd)
	s.different(pods)
	t.Cleanup(framework.CleanupPluginBuilders)
	ssn, p := s.next(s.filled(t))
	defer framework.CloseSession(ssn)
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		action.Execute(ssn)
	}
	spent, most := p.elastic.Solver().Spent(), 2*(nodes*(8+crowd)+pods*(asks+2*(nodes+1))) // by each of two rules
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

// inadmissibleGang is a cluster with a gang of queue q. One pod of it could get a device that queue r uses. The other pod asks for a class
// without devices, and for more cpu than the node has.
func inadmissibleGang(minimum int32, needs ...*corev1.Pod) *fixture {
	s := slowCluster(1)
	s.job("elsewhere", "r", running, nil, newPod("elsewhere", "n0", cpu(1)))
	s.busy(1, 8)
	s.job("j", "q", inqueue, nil, append([]*corev1.Pod{s.asking("gpu", "", newPod("p", "", cpu(1)))}, needs...)...)
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = minimum
	return s
}

// TestWhatCouldNeverStartIsAskedAgainWhenItCould, and not when something else has changed.
func TestWhatCouldNeverStartIsAskedAgainWhenItCould(t *testing.T) {
	s := inadmissibleGang(2)
	s.Pods = append(s.Pods, s.asking("a100", "", newPod("never", "", cpu(1))))
	s.Pods[len(s.Pods)-1].Annotations[scheduling.KubeGroupNameAnnotationKey] = "j"
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	// asked runs a session, and returns its number of searches for victims.
	asked := func() int {
		s.whole(scheduler)
		return s.cache.elastic.Searches()
	}
	eventually("victims are looked for", func() bool { return asked() > 0 })
	eventually("the job is remembered as one that never starts", func() bool { return asked() == 0 })
	elsewhere := s.Pods[slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return p.Name == "elsewhere" })]
	scheduler.DeletePod(elsewhere)
	if n := asked(); n != 0 {
		t.Errorf("a pod has ended elsewhere, and victims were looked for %d times", n)
	}
	slice := s.ResourceSlices[0].DeepCopy()
	slice.ResourceVersion = "2"
	slice.Spec.Devices = append(slice.Spec.Devices, slice.Spec.Devices[0])
	slice.Spec.Devices[len(slice.Spec.Devices)-1].Name = "more"
	if _, err := scheduler.Client().ResourceV1().ResourceSlices().Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("after a slice has changed, victims are looked for", func() bool { return asked() > 0 })
	asked()
	node := s.Nodes[0].DeepCopy()
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2000")
	node.ResourceVersion = "2"
	must(t, scheduler.AddOrUpdateNode(node))
	if asked() == 0 {
		t.Error("a node has more cpu, and no victims are looked for")
	}
}

// TestWhatMayStartWithoutSomePodsIsNotTakenForInadmissible: the minimum of the job does not need the pod that never starts.
func TestWhatMayStartWithoutSomePodsIsNotTakenForInadmissible(t *testing.T) {
	for _, minimum := range []int32{1, 2} {
		s := inadmissibleGang(minimum, newPod("never", "", cpu(100_000)))
		p := pluginOf(s.open(t))
		job := p.session.Jobs["ns/j"]
		for _, task := range job.Tasks {
			_ = p.session.PrePredicateFn(task)
		}
		if got := p.elastic.StartsNever(job); got != (minimum == 2) {
			t.Errorf("with a minimum of %d, the job never starts: %t", minimum, got)
		}
	}
}
