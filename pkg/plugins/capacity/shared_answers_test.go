// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/settings"
)

// allocateAlike executes this plugin's action allocate.
func (s *fixture) allocateAlike(t *testing.T) *framework.Session {
	t.Helper()
	ssn := s.open(t)
	s.Run((&Plugins{cache: s.cache}).Actions()[:1])
	return ssn
}

// TestJobsThatWaitAlikeShareNothingThatChanges: when a session closes, Volcano asks for the reasons of several jobs at the same time, and FitErrors.Error writes.
func TestJobsThatWaitAlikeShareNothingThatChanges(t *testing.T) {
	s := newFixture(1).queue("root", "", nil).queue("q", "root", nil)
	s.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}}
	for i := range 2 {
		name := fmt.Sprint("p-", i)
		s.job(name, "q", inqueue, nil, newPod(name, "", cpu(1)))
	}
	ssn := s.allocateAlike(t)
	of := func(name string) *api.FitErrors {
		return ssn.Jobs[taskOf(ssn, name).Job].NodesFitErrors[taskOf(ssn, name).UID]
	}
	why, before := of("p-0"), *of("p-0")
	if _ = why.Error(); why == of("p-1") && !reflect.DeepEqual(before, *why) {
		t.Error("two jobs share what changes when it is read")
	}
}

// TestWhatNodesSayIsPutIntoWordsOnce, and not for each of the pods that share it: when a session closes, Volcano reads it several times for each pod.
func TestWhatNodesSayIsPutIntoWordsOnce(t *testing.T) {
	const pods, nodes = 40, 300
	s := newFixture(slices.Repeat([]int{2}, nodes)...).queue("root", "", nil).queue("q", "root", nil)
	var all []*corev1.Pod
	for i := range pods {
		all = append(all, newPod(fmt.Sprint("p-", i), "", cpu(1)))
	}
	s.job("j", "q", inqueue, nil, all...)
	s.group().MinMember = 0
	ssn := s.open(t)
	ssn.Tiers = append(ssn.Tiers, conf.Tier{Plugins: []conf.PluginOption{{Name: "sla", EnabledPredicate: ptr.To(true)}}})
	ssn.AddPredicateFn("sla", func(task *api.TaskInfo, on *api.NodeInfo) error {
		return api.NewFitError(task, on, "no pod may be on "+on.Name)
	})
	s.Run((&Plugins{cache: s.cache}).Actions()[:1])
	job, id := ssn.Jobs["ns/j"], taskOf(ssn, "p-7").UID
	if len(job.NodesFitErrors) != pods {
		t.Fatalf("%d pods were tried", len(job.NodesFitErrors))
	}
	before := job.NodesFitErrors[id].Error()
	framework.CloseSession(ssn)
	if after := job.NodesFitErrors[id].Error(); after != before {
		t.Errorf("the pod waits because %q, and was told %q", before, after)
	}
	if made := testing.AllocsPerRun(1, func() { _ = job.FitError() }); made > 10*(pods+nodes) {
		t.Errorf("%g objects are made for %d pods and %d nodes", made, pods, nodes)
	}
}

// gib is a list with some memory, and little more.
func gib(n int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(fmt.Sprint(n, "Gi")), corev1.ResourceCPU: resource.MustParse("1m")}
}

// TestPodsThatShareAnswersWaitForTheSameReason: the reason is that of a pod that asks all nodes itself.
func TestPodsThatShareAnswersWaitForTheSameReason(t *testing.T) {
	for _, c := range []struct {
		name, pod string
		cores     []int
		jobs      func(*fixture)
	}{
		{"an earlier pod lacked devices that a gang had, which has given them back", "z-late", []int{2, 2}, func(s *fixture) {
			s.Nodes[1].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("0")
			s.job("a-gang", "q", inqueue, nil, s.claimed(1, newPod("a-gang-0", "", gib(1))), s.claimed(1, newPod("a-gang-1", "", gib(1))))
			s.job("b-filler", "q", inqueue, nil, newPod("b-filler", "", gib(2)))
			s.job("z-late", "q", inqueue, nil, s.claimed(1, newPod("z-late", "", gib(1))))
		}},
		{"a node has the devices, but does not take the pods", "z-late", []int{2, 2}, func(s *fixture) {
			s.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}}
			s.job("a-early", "q", inqueue, nil, s.claimed(1, newPod("a-early", "", cpu(1))))
			s.job("z-late", "q", inqueue, nil, s.claimed(1, newPod("z-late", "", cpu(1))))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reasons := map[bool]string{}
			for _, share := range []bool{false, true} {
				s := newFixture(c.cores...).queue("root", "", nil).queue("q", "root", nil).stocked(1)
				s.withDevices(nil)
				s.arguments = framework.Arguments{settings.Incremental: share}
				c.jobs(s)
				ssn := s.allocateAlike(t)
				task := taskOf(ssn, c.pod)
				if nodes := ssn.Jobs[task.Job].NodesFitErrors[task.UID]; nodes != nil {
					reasons[share] = nodes.Error()
				}
				if refusal := pluginOf(ssn).placements.Refusal(task); refusal != nil {
					reasons[share] = refusal.Message()
				}
			}
			if reasons[true] != reasons[false] {
				t.Errorf("the pod waits because %q, but if it shares nothing, because %q", reasons[true], reasons[false])
			}
		})
	}
}

// TestPodsFindNodesThatAreFreeNow: two nodes of 300 are free, and one hundred nodes or so are chosen among. The others will be free when their pods have left.
func TestPodsFindNodesThatAreFreeNow(t *testing.T) {
	for round := range 8 {
		cores := slices.Repeat([]int{1}, 300)
		s := newFixture(append(cores, 1000)...).queue("root", "", nil).queue("q", "root", nil)
		s.Nodes[len(cores)].Spec.Taints = []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}} // the quota has room
		for i := range len(cores) - 2 {
			name := fmt.Sprint("leaving-", i)
			s.job(name, "q", running, nil, newPod(name, fmt.Sprint("n", i+1), cpu(1)))
		}
		for i := range 8 {
			name := fmt.Sprint("p-", i)
			s.job(name, "q", inqueue, nil, newPod(name, "", cpu(1)))
		}
		ssn := s.open(t)
		for i := range len(cores) - 2 {
			must(t, framework.NewStatement(ssn).Evict(taskOf(ssn, fmt.Sprint("leaving-", i)), "it leaves"))
		}
		s.Run((&Plugins{cache: s.cache}).Actions()[:1])
		started := 0
		for i := range 8 {
			if taskOf(ssn, fmt.Sprint("p-", i)).Status == api.Binding {
				started++
			}
		}
		framework.CleanupPluginBuilders()
		if started != 2 {
			t.Fatalf("round %d: %d pods start, want 2", round, started)
		}
	}
}

// TestAPodSearchesOnceWhereTheQuotaRefusesDevices: a second search on each node would double the cost for each pod that is unlike the others.
func TestAPodSearchesOnceWhereTheQuotaRefusesDevices(t *testing.T) {
	searches, spent := map[bool]int{}, map[bool]int{}
	for _, share := range []bool{false, true} {
		s := newFixture(8, 8, 8, 8).queue("root", "", nil).queue("q", "root", nil)
		models := map[string]string{"n1": h100, "n2": "a100", "n3": "a100", "n4": "a100"}
		s.withModels("matching", map[string]schedulingv1beta1.DRAQuota{"q": capability(map[string]int64{h100: 0})}, models)
		s.arguments[settings.Incremental] = share
		s.job("j", "q", inqueue, nil, s.asking("gpu", "", newPod("p", "", cpu(1))))
		expectStatuses(t, s.allocateAlike(t), "p:Binding")
		searches[share], spent[share] = opened.devices.SearchBudget().Used()
	}
	if searches[true] != searches[false] {
		t.Errorf("the pod searches %d times and spends %d, without rankings %d times and %d", searches[true], spent[true], searches[false], spent[false])
	}
}
