// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/problems"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

const (
	running = schedulingv1beta1.PodGroupRunning
	inqueue = schedulingv1beta1.PodGroupInqueue
	pending = schedulingv1beta1.PodGroupPending
)

// TestBadQueuesHarmNobodyElse has a good queue beside each bad queue. The pod of the good queue must get its node
// (volcano issues 4818 and 4819).
func TestBadQueuesHarmNobodyElse(t *testing.T) {
	for _, c := range []struct {
		name                   string
		bad                    func(*fixture)
		queue, reason, message string
		want                   string
	}{
		{"a parent that does not exist", func(s *fixture) {
			s.queue("lost", "gone", nil).job("bad", "lost", inqueue, nil, newPod("bad", "", cpu(1)))
		}, "lost", problems.QueueMisplacedReason, "The queue takes no pods: its parent gone does not exist: create that queue or change spec.parent", "bad:Pending good:Binding"},
		{"a cycle of two, with a pod that runs", func(s *fixture) {
			s.queue("a", "b", nil).queue("b", "a", nil).job("bad", "a", running, nil, newPod("bad", "n1", cpu(1)))
		}, "a", problems.QueueMisplacedReason, "its own ancestor", "bad:Running good:Binding"},
		{"a cycle of three and a queue below it", func(s *fixture) {
			s.queue("a", "b", nil).queue("b", "c", nil).queue("c", "a", nil).queue("tail", "c", nil)
			s.job("bad", "tail", inqueue, nil, newPod("bad", "", cpu(1)))
		}, "tail", problems.QueueMisplacedReason, "cannot be used", "bad:Pending good:Binding"},
		{"a job in a queue that has queues below it", func(s *fixture) {
			s.queue("parent", "root", nil).queue("child", "parent", nil).job("bad", "parent", inqueue, nil, newPod("bad", "", cpu(1)))
		}, "parent", problems.QueueNotLeafReason, "move the jobs to a queue that has no children", "bad:Pending good:Binding"},
		{"guarantees that the cluster cannot keep", func(s *fixture) {
			s.queue("greedy", "root", func(q *schedulingv1beta1.QueueSpec) { q.Guarantee.Resource = gpu(100) })
			s.job("bad", "greedy", inqueue, nil, newPod("bad", "", gpu(1)))
		}, "greedy", problems.GuaranteeNotCoveredReason,
			"The queue's guarantee of nvidia.com/gpu cannot be kept: the queue and its siblings are guaranteed <100>, but there is only <8>: lower guarantees or add nodes",
			"bad:Binding good:Binding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(4).queue("root", "", nil).queue("good", "root", nil)
			s.job("good", "good", inqueue, nil, newPod("good", "", cpu(1)))
			c.bad(s)
			ssn := s.act(t)
			expectStatuses(t, ssn, c.want)
			framework.CloseSession(ssn)
			expectEvent(t, ssn.KubeClient(), "Queue", c.queue, c.reason, c.message)
			if n := gauge(t, "volcano_queue_problems", c.reason); n < 1 {
				t.Errorf("the metric counts %g queues", n)
			}
		})
	}
}

func TestRootThatIsDeletedStopsNobody(t *testing.T) {
	s := newFixture(4).queue("ml", "root", nil).queue("team", "ml", capped(2)).queue("other", "", nil)
	s.job("j", "team", pending, cpu(2), newPod("p1", "", cpu(1)), newPod("p2", "", cpu(1))).job("k", "other", pending, cpu(1), newPod("p3", "", cpu(1)))
	ssn := s.act(t)
	expectStatuses(t, ssn, "p1:Binding p2:Binding p3:Binding")
	framework.CloseSession(ssn)
}

func TestClosedQueueTakesNobody(t *testing.T) {
	s := newFixture(4).queue("root", "", nil).queue("closed", "root", nil).queue("good", "root", nil)
	s.Queues[1].Status.State = schedulingv1beta1.QueueStateClosed
	s.job("late", "closed", pending, cpu(1), newPod("late", "", cpu(1)))
	s.job("early", "closed", inqueue, nil, newPod("early", "", cpu(1)))
	s.job("good", "good", pending, cpu(1), newPod("good", "", cpu(1)))
	ssn := s.act(t)
	expectStatuses(t, ssn, "early:Pending good:Binding late:Pending")
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "PodGroup", "late", "Unschedulable", `Queue <closed> takes no pods: its state is "Closed", not Open`)
	expectEvent(t, ssn.KubeClient(), "Pod", "early", "Unschedulable", `Queue <closed> takes no pods: its state is "Closed", not Open`)
}

// TestNoTreePanics runs whole sessions over queues with random parents, states and limits.
func TestNoTreePanics(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, seed))
			s := newFixture(random.IntN(5), 4)
			if seed%4 > 0 {
				s.queue("root", "", nil)
			}
			s.flat = seed%3 == 0
			for i := range 10 {
				parent := fmt.Sprint("q", random.IntN(12))
				if random.IntN(3) == 0 {
					parent = []string{"", "root"}[random.IntN(2)]
				}
				s.queue(fmt.Sprint("q", i), parent, func(q *schedulingv1beta1.QueueSpec) {
					q.Capability, q.Deserved, q.Guarantee.Resource = cpu(random.IntN(5)), cpu(random.IntN(3)), gpu(random.IntN(9))
				})
				if random.IntN(5) == 0 {
					s.Queues[len(s.Queues)-1].Status.State = schedulingv1beta1.QueueStateClosing
				}
			}
			for i := range 30 {
				node := []string{"", "n1", "n2"}[random.IntN(3)]
				phase := []schedulingv1beta1.PodGroupPhase{running, inqueue, pending}[random.IntN(3)]
				s.job(fmt.Sprint("j", i), fmt.Sprint("q", random.IntN(12)), phase, cpu(1), newPod(fmt.Sprint("p", i), node, cpu(random.IntN(2))))
			}
			ssn := s.act(t)
			framework.CloseSession(ssn)
		})
	}
}

// TestWhatHasVanishedIsNoPanic asks about jobs, pods and queues that the session lacks.
func TestWhatHasVanishedIsNoPanic(t *testing.T) {
	s := newFixture(4).queue("root", "", nil).queue("q", "root", nil)
	s.job("j", "q", running, nil, newPod("known", "n1", cpu(1)))
	ssn := s.open(t)
	p := pluginOf(ssn)
	known := taskOf(ssn, "known")
	stranger := api.NewTaskInfo(newPod("stranger", "", cpu(1)))
	gone := api.NewQueueInfo(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "gone"}, Status: scheduling.QueueStatus{State: scheduling.QueueStateOpen}})
	job := api.NewJobInfo("ns/stranger", stranger)
	job.Queue, job.PodGroup = "gone", &api.PodGroup{}

	if p.allocatable(gone, stranger) || p.allocatable(ssn.Queues["q"], stranger) || p.preemptive(gone, stranger) {
		t.Error("a pod or a queue that is not there is given something")
	}
	if p.jobEnqueueable(job) > 0 {
		t.Error("a job of a queue that is not there is admitted")
	}
	p.jobEnqueued(job)
	if victims, _ := p.reclaimable(stranger, []*api.TaskInfo{known}); len(victims) > 0 {
		t.Errorf("a pod that is not there has victims %v", victims)
	}
	if victims, _ := p.reclaimable(known, []*api.TaskInfo{stranger}); len(victims) > 0 {
		t.Errorf("a pod that is not there is a victim: %v", victims)
	}
	if p.queueOrder(gone, ssn.Queues["q"]) != 0 || p.victimQueueOrder(gone, ssn.Queues["q"], gone) != 0 {
		t.Error("a queue that is not there has a place in the order")
	}
	if err := p.prePredicate(stranger); err != nil {
		t.Error(err)
	}
	state := ssn.GetCycleState(stranger.UID)
	if p.simulateAddTask(t.Context(), state, stranger, stranger, nil) == nil || p.simulateRemoveTask(t.Context(), state, stranger, stranger, nil) == nil {
		t.Error("a pod that is not there can be added to a simulation or removed from it")
	}
	p.allocate(&framework.Event{Task: stranger})
	p.deallocate(&framework.Event{Task: stranger})
	p.report()
}

// gauge returns the value of a metric for the value of one of its labels, or of a metric without labels.
func gauge(t *testing.T, name, label string) float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	must(t, err)
	for _, family := range families {
		for _, metric := range family.Metric {
			labeled := slices.ContainsFunc(metric.Label, func(pair *dto.LabelPair) bool { return pair.GetValue() == label })
			if family.GetName() == name && (labeled || label == "") {
				return metric.Gauge.GetValue()
			}
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
