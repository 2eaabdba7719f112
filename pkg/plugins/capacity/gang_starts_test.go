// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestAGangOfClaimsAloneStartsAsAWhole: the gang comes before a single pod that asks for a device, too.
func TestAGangOfClaimsAloneStartsAsAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		devices int
		first   corev1.ResourceList // of the first pod of the gang
		want    string
	}{
		"too few devices":              {2, nil, "g-0:Pending g-1:Pending g-2:Pending single:Binding"},
		"enough devices":               {3, nil, "g-0:Binding g-1:Binding g-2:Binding single:Pending"},
		"more devices":                 {4, nil, "g-0:Binding g-1:Binding g-2:Binding single:Binding"},
		"a pod that requests cpu, too": {3, cpu(1), "g-0:Binding g-1:Binding g-2:Binding single:Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(c.devices).withDevices(nil)
			s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", c.first)), s.claimed(1, newPod("g-1", "", nil)), s.claimed(1, newPod("g-2", "", nil)))
			s.job("single", "q", inqueue, nil, s.claimed(1, newPod("single", "", nil)))
			for i, group := range s.PodGroups {
				group.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
			}
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

// TestGangsOfClaimsAloneTakeTurns: none of the gangs that lack devices keeps a device from the last one, which has enough.
func TestGangsOfClaimsAloneTakeTurns(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(3).withDevices(nil)
	for g, size := range []int{5, 4, 3} {
		var pods []*corev1.Pod
		for i := range size {
			pods = append(pods, s.claimed(1, newPod(fmt.Sprintf("g%d-%d", size, i), "", nil)))
		}
		s.job(fmt.Sprint("g", size), "q", inqueue, nil, pods...)
		s.PodGroups[g].CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+g), 0))
	}
	expectStatuses(t, s.act(t), "g3-0:Binding g3-1:Binding g3-2:Binding g4-0:Pending g4-1:Pending g4-2:Pending g4-3:Pending "+
		"g5-0:Pending g5-1:Pending g5-2:Pending g5-3:Pending g5-4:Pending")
}

// TestAGangOfClaimsAloneStartsWhenAllItsVictimsHaveGone: the pods of the gang are nominated, and wait for each other.
func TestAGangOfClaimsAloneStartsWhenAllItsVictimsHaveGone(t *testing.T) {
	c := lendingCluster(t)
	c.group("g", "q", 2, nil)
	for _, name := range []string{"g1", "g2"} {
		c.pod(name, "g", func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }, "h100")
	}
	c.expectTurn("g1@ g2@ v1@n1x v2@n1x")
	c.deletePod(c.pods.named("v2"))
	c.control()
	c.expectTurn("g1@ g2@ v1@n1x")
	c.leave()
	c.expectTurn("g1@n1 g2@n1")
}

// ofTask makes a pod one of a task, created at a second.
func ofTask(p *corev1.Pod, task string, at int64) *corev1.Pod {
	p.Annotations[batchv1alpha1.TaskSpecKey] = task
	p.CreationTimestamp = metav1.NewTime(time.Unix(1000+at, 0))
	return p
}

// TestTheMinimumOfAJobHasTheMinimumOfEachTask, whichever pods are older: three workers, of which two are needed, and a launcher.
func TestTheMinimumOfAJobHasTheMinimumOfEachTask(t *testing.T) {
	for _, first := range []string{"launcher", "workers"} {
		for _, phase := range []upstreamv1beta1.PodGroupPhase{pending, inqueue} {
			t.Run(first+"/"+string(phase), func(t *testing.T) {
				s := newFixture(16).queue("root", "", nil).queue("q", "root", nil).stocked(8)
				s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(2)}})
				at := int64(0)
				if first == "workers" {
					at = 9
				}
				s.job("mpi", "q", phase, cpu(3),
					ofTask(s.claimed(1, newPod("w-0", "", cpu(1))), "worker", 5), ofTask(s.claimed(1, newPod("w-1", "", cpu(1))), "worker", 5),
					ofTask(s.claimed(1, newPod("w-2", "", cpu(1))), "worker", 5), ofTask(newPod("launcher", "", cpu(1)), "launcher", at))
				s.group().MinMember = 3
				s.group().MinTaskMember = map[string]int32{"worker": 2, "launcher": 1}
				ssn := s.act(t)
				expectStatuses(t, ssn, "launcher:Binding w-0:Binding w-1:Binding w-2:Pending")
			})
		}
	}
}

// TestAJobThatLostItsLauncherStartsItAgain although it lost an older worker, too, which its queue has no room for.
func TestAJobThatLostItsLauncherStartsItAgain(t *testing.T) {
	s := newFixture(16).queue("root", "", nil).queue("q", "root", nil).stocked(8)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(2)}})
	s.job("mpi", "q", pending, cpu(3),
		ofTask(s.holding(0, 1, newPod("w-0", "n1", cpu(1))), "worker", 0), ofTask(s.holding(1, 1, newPod("w-1", "n1", cpu(1))), "worker", 0),
		ofTask(s.claimed(1, newPod("w-2", "", cpu(1))), "worker", 9), ofTask(newPod("z-launcher", "", cpu(1)), "launcher", 9))
	s.group().MinMember = 3
	s.group().MinTaskMember = map[string]int32{"worker": 2, "launcher": 1}
	expectStatuses(t, s.act(t), "w-0:Running w-1:Running w-2:Pending z-launcher:Binding")
}

// TestAnElasticPodDoesNotTakeThePlaceOfARequiredTask whatever is short.
func TestAnElasticPodDoesNotTakeThePlaceOfARequiredTask(t *testing.T) {
	for _, what := range []string{"cpu", "devices", "nodes"} {
		t.Run(what, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			quota, classes, cores := schedulingv1beta1.DRAQuota{}, []string(nil), 16
			switch what {
			case "devices":
				quota.Capability, classes = counts(3), []string{"h100"}
			case "nodes":
				cores = 3
			}
			c.queue("q", "root", quota, func(s *schedulingv1beta1.QueueSpec) {
				if what == "cpu" {
					s.Capability = cpu(3)
				}
			})
			c.node("n1", cores, "h100", "h100", "h100", "h100")
			c.group("mpi", "q", 3, func(g *upstreamv1beta1.PodGroup) { g.Spec.MinTaskMember = map[string]int32{"worker": 2, "launcher": 1} })
			task := func(name string) func(*corev1.Pod) {
				return func(p *corev1.Pod) { p.Annotations["volcano.sh/task-spec"] = name }
			}
			for _, name := range []string{"w-0", "w-1", "w-2"} {
				c.pod(name, "mpi", task("worker"), classes...)
			}
			c.pod("z-launcher", "mpi", task("launcher"), classes...)
			for range 5 {
				c.turn()
			}
			if got := c.places(); strings.Count(got, "@n1") != 3 || !strings.Contains(got, "z-launcher@n1") {
				t.Errorf("there is room for the launcher and two workers, and the gang does not start: %s", got)
			}
		})
	}
}
