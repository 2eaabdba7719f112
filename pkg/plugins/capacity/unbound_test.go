// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// meanwhile is a user who does something while a pod is being bound.
type meanwhile func() error

func (m meanwhile) PreBind(context.Context, *schedulercache.BindContext) error   { return m() }
func (m meanwhile) PreBindRollBack(context.Context, *schedulercache.BindContext) {}

// refusing refuses the binding of pods.
type refusing func(*corev1.Pod) error

func (r refusing) PreBind(_ context.Context, bind *schedulercache.BindContext) error {
	return r(bind.TaskInfo.Pod)
}
func (r refusing) PreBindRollBack(context.Context, *schedulercache.BindContext) {}

// expectAfter lets a pod of queue a be bound, and then expects that a pod of queue b takes its place.
func (c *fuzzCluster) expectAfter(t *testing.T, act meanwhile, another func()) {
	t.Helper()
	c.scheduler.preBinders["volumes"] = act
	c.session()
	delete(c.scheduler.preBinders, "volumes")
	another()
	for range 5 {
		c.session()
	}
	if !strings.Contains(c.places(), "q@n") {
		t.Errorf("q waits although nothing runs: %s", c.places())
	}
}

// linger deletes a pod that has a finalizer.
func (c *fuzzCluster) linger(name string) {
	pod := c.pods.named(name).DeepCopy()
	pod.Finalizers, pod.DeletionTimestamp = []string{"example.com/mine"}, &metav1.Time{Time: c.clock.Now()}
	c.putPod(pod)
}

// TestADeletedPodThatWasNotBoundKeepsNoCards: it never runs, however long its finalizer keeps it.
func TestADeletedPodThatWasNotBoundKeepsNoCards(t *testing.T) {
	c := newCalmCluster(t)
	c.queue("org", "root", schedulingv1beta1.DRAQuota{}, nil)
	org := c.queues.named("org").DeepCopy()
	org.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: `{"H100": 8}`}
	c.putQueue(org)
	c.queue("a", "org", schedulingv1beta1.DRAQuota{}, nil)
	c.queue("b", "org", schedulingv1beta1.DRAQuota{}, nil)
	for _, name := range []string{"n1", "n2"} {
		c.node(name, 16)
		c.editNode(name, func(node *corev1.Node) { node.Labels["nvidia.com/gpu.product"] = "H100" })
	}
	pod := func(name, group, queue string) {
		c.group(group, queue, 1, nil)
		c.pod(name, group, func(p *corev1.Pod) { p.Spec = gpuPod(name, "", 8, "").Spec; p.Spec.SchedulerName = "volcano" })
	}
	pod("p", "g", "a")
	c.expectAfter(t, func() error { c.linger("p"); return nil }, func() { pod("q", "h", "b") })
}

// TestAPodWhoseBindingCannotBePreparedIsNotCharged also if its PodGroup is deleted meanwhile, so that it is in no job.
func TestAPodWhoseBindingCannotBePreparedIsNotCharged(t *testing.T) {
	for name, deletes := range map[string]bool{"it goes on waiting": false, "it is deleted, and has a finalizer": true} {
		t.Run(name, func(t *testing.T) {
			c := newCalmCluster(t)
			c.queue("org", "root", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Capability = cpu(1) })
			c.queue("a", "org", schedulingv1beta1.DRAQuota{}, nil)
			c.queue("b", "org", schedulingv1beta1.DRAQuota{}, nil)
			c.node("n1", 16)
			c.single("g", "a")
			c.expectAfter(t, func() error {
				if group, found := c.groups.get("g"); found {
					c.deleteGroup(group)
				}
				if deletes {
					c.linger("g")
				}
				return errors.New("its volume is gone")
			}, func() { c.single("q", "b") })
		})
	}
}

// TestPodsWhoseBindingFailsAgainAndAgainKeepTheirPlacesFromNobody: each of them came first, in every session, and none ever ran. They are tried again,
// less and less often.
func TestPodsWhoseBindingFailsAgainAndAgainKeepTheirPlacesFromNobody(t *testing.T) {
	c := newCalmCluster(t)
	c.queue("org", "root", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Capability = cpu(1) })
	c.queue("a", "org", schedulingv1beta1.DRAQuota{}, nil)
	c.queue("b", "org", schedulingv1beta1.DRAQuota{}, nil)
	c.node("n1", 16)
	tries, fails := 0, true
	c.scheduler.preBinders["volumes"] = refusing(func(pod *corev1.Pod) error {
		if !fails || pod.Name == "q" {
			return nil
		}
		tries++
		return errors.New("it is too large")
	})
	for _, name := range []string{"f", "g"} {
		c.single(name, "a")
	}
	for range 100 {
		c.session()
		c.clock.Step(100 * time.Millisecond)
	}
	if tries < 8 || tries > 40 {
		t.Errorf("two pods were tried %d times in ten seconds", tries)
	}
	c.single("q", "b")
	for range 5 {
		c.session()
		c.clock.Step(100 * time.Millisecond)
	}
	if !strings.Contains(c.places(), "q@n1") {
		t.Errorf("q waits for pods that are never bound: %s", c.places())
	}
	fails = false
	c.deletePod(c.pods.named("q"))
	c.clock.Step(10 * time.Second)
	c.session()
	if !strings.Contains(c.places(), "f@n1") && !strings.Contains(c.places(), "g@n1") {
		t.Errorf("nobody is tried again: %s", c.places())
	}
}

// TestPodThatIsNotBoundHasNoNode: Volcano writes the node of a pod into the object that it shares with the informers, before
// it knows whether the job has enough pods. Without its PodGroup, the pod would be charged as running.
func TestPodThatIsNotBoundHasNoNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		cores int
	}{
		{"assigned by allocate, which undoes it", 3},
		{"assigned by backfill, which does not", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(4).queue("root", "", nil).queue("q", "root", nil)
			fits, waits := newPod("fits", "", cpu(c.cores)), newPod("waits", "", cpu(3))
			s.job("gang", "q", inqueue, nil, fits, waits, newPod("large", "", cpu(5)))
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New(), allocate.New(), backfill.New()})
			framework.CloseSession(ssn)
			if fits.Spec.NodeName != "" || waits.Spec.NodeName != "" {
				t.Errorf("the pods are not bound, and have nodes %q and %q", fits.Spec.NodeName, waits.Spec.NodeName)
			}
		})
	}
}

// TestAPodThatNamesItsNodeIsCharged: it ran without a check of the quota. Its queue gets nothing more.
func TestAPodThatNamesItsNodeIsCharged(t *testing.T) {
	c := newCalmCluster(t)
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cpu(2) })
	c.node("n1", 8)
	for _, name := range []string{"a", "b", "c"} {
		c.only(name, "q", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n1", corev1.PodRunning })
	}
	c.single("waits", "q")
	c.expectTurn("a@n1 b@n1 c@n1 waits@")
	for _, name := range []string{"a", "b"} {
		c.deletePod(c.pods.named(name))
	}
	c.expectTurn("c@n1 waits@n1")
}
