// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"sync"
	"testing"

	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// These are past or present faults of upstream's plugin, and related cases.

// capped limits a queue to a number of cores.
func capped(cores int) func(*schedulingv1beta1.QueueSpec) {
	return func(q *schedulingv1beta1.QueueSpec) { q.Capability = cpu(cores) }
}

// TestPodsThatAreBeingBoundCountOnce: a PodGroup stays Inqueue until its pods run, although their amounts are already
// allocated (volcano pull request 5130).
func TestPodsThatAreBeingBoundCountOnce(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(4))
	s.job("binding", "q", inqueue, cpu(3), newPod("b1", "n1", cpu(1)), newPod("b2", "n1", cpu(1)), newPod("b3", "n1", cpu(1)))
	s.job("next", "q", pending, cpu(1), newPod("next", "", cpu(1)))
	expectStatuses(t, s.act(t), "b1:Running b2:Running b3:Running next:Binding")
}

// TestScalarsThatARunningJobStillNeeds: what is kept for the rest of a running job is counted in the same unit as everything else.
func TestScalarsThatARunningJobStillNeeds(t *testing.T) {
	for _, c := range []struct {
		gpus int
		want string
	}{{4, string(inqueue)}, {5, string(pending)}} {
		s := newFixture(8).queue("root", "", nil).queue("q", "root", func(q *schedulingv1beta1.QueueSpec) { q.Capability = gpu(8) })
		s.job("running", "q", running, gpu(4), newPod("r", "n1", gpu(2))) // needs two more
		s.job("next", "q", pending, gpu(c.gpus))
		ssn := s.act(t)
		if got := phaseOf(ssn, "next"); got != c.want {
			t.Errorf("a job of %d GPUs beside one that has 2 and needs 4, in a queue of 8, is %s, want %s", c.gpus, got, c.want)
		}
		framework.CloseSession(ssn)
	}
}

// veto is a plugin that rejects jobs named veto.
type veto struct{}

func (veto) Name() string                      { return "veto" }
func (veto) OnSessionClose(*framework.Session) {}
func (v veto) OnSessionOpen(ssn *framework.Session) {
	ssn.AddJobEnqueueableFn(v.Name(), func(obj any) int {
		if obj.(*api.JobInfo).Name == "veto" {
			return util.Reject
		}
		return util.Permit
	})
}

// TestJobThatAnotherPluginRejectsLeavesNothingBehind: room is taken only when a job is admitted, not when this plugin alone would admit it.
func TestJobThatAnotherPluginRejectsLeavesNothingBehind(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(4))
	s.Plugins = map[string]framework.PluginBuilder{"veto": func(framework.Arguments) framework.Plugin { return veto{} }}
	s.extra = []conf.PluginOption{{Name: "veto", EnabledJobEnqueued: ptr.To(true)}}
	s.job("veto", "q", pending, cpu(4)).job("z", "q", pending, cpu(4))
	ssn := s.act(t)
	if phaseOf(ssn, "veto") != string(pending) || phaseOf(ssn, "z") != string(inqueue) {
		t.Errorf("job veto is %s, job z is %s", phaseOf(ssn, "veto"), phaseOf(ssn, "z"))
	}
}

// TestNobodyIsEvictedForAQueueThatIsFull: a queue that deserves more may still be at its capability (volcano pull request 5053).
func TestNobodyIsEvictedForAQueueThatIsFull(t *testing.T) {
	s := newFixture(4).queue("root", "", nil)
	s.queue("full", "root", func(q *schedulingv1beta1.QueueSpec) { q.Capability, q.Deserved = cpu(1), cpu(3) })
	s.queue("over", "root", func(q *schedulingv1beta1.QueueSpec) { q.Deserved = cpu(1) })
	s.job("holder", "full", running, nil, newPod("holder", "n1", cpu(1)))
	s.job("victims", "over", running, nil, newPod("v1", "n1", cpu(1)), newPod("v2", "n1", cpu(1)), newPod("v3", "n1", cpu(1)))
	s.PodGroups[1].Spec.MinMember = 1
	s.job("more", "full", inqueue, nil, newPod("more", "", cpu(1)))
	expectStatuses(t, s.act(t), "holder:Running more:Pending v1:Running v2:Running v3:Running")
}

// TestRootMayBeLargerThanTheNodes: with a capability on root, jobs are admitted for which an autoscaler will add nodes
// (volcano issue 3947).
func TestRootMayBeLargerThanTheNodes(t *testing.T) {
	s := newFixture(2).queue("root", "", capped(100)).queue("q", "root", nil)
	s.job("big", "q", pending, cpu(50))
	if got := phaseOf(s.act(t), "big"); got != string(inqueue) {
		t.Errorf("the job is %s", got)
	}
}

// TestClusterThatShrinksKeepsScheduling: if guarantees exceed the nodes, each queue still has its own guarantee, and sessions still work.
func TestClusterThatShrinksKeepsScheduling(t *testing.T) {
	s := newFixture(2).queue("root", "", nil)
	guaranteed := func(q *schedulingv1beta1.QueueSpec) { q.Guarantee.Resource = cpu(2) }
	s.queue("a", "root", guaranteed).queue("b", "root", guaranteed).queue("rest", "root", nil)
	s.job("a", "a", pending, cpu(1), newPod("a", "", cpu(1))).job("rest", "rest", pending, cpu(1), newPod("rest", "", cpu(1)))
	expectStatuses(t, s.act(t), "a:Binding rest:Pending")
}

// TestVictimsMakeRoomWhereItIsMissing: when an ancestor is full, only pods below it make room.
func TestVictimsMakeRoomWhereItIsMissing(t *testing.T) {
	s := newFixture(6).queue("root", "", nil).queue("full", "root", capped(3))
	s.queue("near", "full", nil).queue("own", "full", func(q *schedulingv1beta1.QueueSpec) { q.Deserved = cpu(3) }).queue("far", "root", nil)
	s.job("near", "near", running, nil, newPod("near1", "n1", cpu(1)), newPod("near2", "n1", cpu(1)), newPod("near3", "n1", cpu(1)))
	s.job("far", "far", running, nil, newPod("far1", "n1", cpu(1)), newPod("far2", "n1", cpu(1)), newPod("far3", "n1", cpu(1)))
	s.job("own", "own", inqueue, nil, newPod("own", "", cpu(1)))
	ssn := s.open(t)
	reclaimer := taskOf(ssn, "own")
	var reclaimees []*api.TaskInfo
	for _, name := range []string{"far1", "far2", "far3", "near1", "near2", "near3"} {
		reclaimees = append(reclaimees, taskOf(ssn, name))
	}
	for _, victim := range ssn.Reclaimable(reclaimer, reclaimees) {
		if victim.Name[:4] != "near" {
			t.Errorf("pod %s would go for nothing", victim.Name)
		}
	}
}

// TestSimulationsRunAtTheSameTime: topology-aware preemption simulates on many nodes in parallel. With -race, this finds shared state.
func TestSimulationsRunAtTheSameTime(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", capped(4)).queue("q", "ml", nil)
	s.job("low", "q", running, nil, newPod("l1", "n1", cpu(2)), newPod("l2", "n1", cpu(2)))
	s.job("high", "q", inqueue, nil, newPod("high", "", cpu(3)))
	ssn := s.open(t)
	preemptor, queue, ctx := taskOf(ssn, "high"), ssn.Queues["q"], context.Background()
	must(t, ssn.PrePredicateFn(preemptor))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			state := ssn.GetCycleState(preemptor.UID).Clone()
			fits := func() bool { return ssn.SimulateAllocatableFn(ctx, state, queue, preemptor) }
			for i, step := range []struct {
				do   func() error
				want bool
			}{
				{func() error { return nil }, false},
				{func() error { return ssn.SimulateRemoveTaskFn(ctx, state, preemptor, taskOf(ssn, "l1"), nil) }, false},
				{func() error { return ssn.SimulateRemoveTaskFn(ctx, state, preemptor, taskOf(ssn, "l2"), nil) }, true},
				{func() error { return ssn.SimulateAddTaskFn(ctx, state, preemptor, taskOf(ssn, "l1"), nil) }, false},
			} {
				if err := step.do(); err != nil || fits() != step.want {
					t.Errorf("step %d: %v, fits %t, want %t", i, err, !step.want, step.want)
				}
			}
		})
	}
	group.Wait()
	if ssn.Allocatable(queue, preemptor) {
		t.Error("a simulation changed the session")
	}
}

// TestEventsAreChargedOnce covers what a statement does and undoes.
func TestEventsAreChargedOnce(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("q", "ml", nil)
	s.job("j", "q", inqueue, nil, newPod("p1", "", cpu(1)), newPod("p2", "", cpu(1))).job("r", "q", running, nil, newPod("r", "n1", cpu(2)))
	ssn := s.open(t)
	p := pluginOf(ssn)
	stmt := framework.NewStatement(ssn)
	expect := func(step string, cores int64) {
		t.Helper()
		for _, name := range []string{"q", "ml", "root"} {
			queue, _ := p.snapshot.Ledger.Queue(name)
			if got := p.snapshot.Ledger.Balance(queue, ledger.Allocated, p.snapshot.Resources.CPU); got != ledger.Units(cores) {
				t.Errorf("%s: queue %s has %s cores, want %d", step, name, got, cores)
			}
		}
	}
	expect("at first", 2)
	for _, name := range []string{"p1", "p2"} {
		must(t, ssn.PrePredicateFn(taskOf(ssn, name)))
		must(t, stmt.Allocate(taskOf(ssn, name), ssn.Nodes["n1"]))
	}
	expect("allocated", 4)
	must(t, stmt.Evict(taskOf(ssn, "r"), "test"))
	expect("evicted", 2)
	stmt.Discard()
	expect("taken back", 2)
	for _, job := range ssn.Jobs {
		for id := range job.Tasks {
			if p.cache.report.Refused(id) {
				t.Errorf("pod %s is refused", id)
			}
		}
	}
}

// TestHotPathDoesNotAllocate: the work for every pod of a burst creates no garbage.
func TestHotPathDoesNotAllocate(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", capped(8)).queue("q", "ml", capped(4))
	s.job("j", "q", inqueue, nil, newPod("p", "", cpu(1)))
	ssn := s.open(t)
	p, task, queue := pluginOf(ssn), taskOf(ssn, "p"), ssn.Queues["q"]
	event := &framework.Event{Task: task}
	allocs := testing.AllocsPerRun(100, func() {
		if !p.allocatable(queue, task) {
			t.Fatal("the pod does not fit")
		}
		p.allocate(event)
		p.deallocate(event)
	})
	if allocs != 0 {
		t.Errorf("%g allocations", allocs)
	}
}
