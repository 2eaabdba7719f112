// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// expectCharges checks the charges of queues: cores, GPUs, and cards A, in this order.
func (s *Snapshot) expectCharges(t *testing.T, when string, want map[string]string) {
	t.Helper()
	for name, charges := range want {
		queue, found := s.Ledger.Queue(name)
		if !found {
			t.Fatalf("%s: there is no queue %s", when, name)
		}
		balance := func(kind ledger.Kind, name string) string {
			return s.Ledger.Balance(queue, ledger.Allocated, s.Dimensions.Ordinal(ledger.Dimension{Kind: kind, Name: name})).String()
		}
		got := balance(ledger.Resource, "cpu") + " " + balance(ledger.Resource, string(gpu)) + " " + balance(ledger.Card, "A")
		if got != charges {
			t.Errorf("%s: queue %s is charged %s, want %s", when, name, got, charges)
		}
	}
}

// drop removes the job of a pod from the session. The pod itself continues.
func (f *fixture) drop(task *api.TaskInfo) {
	f.Helper()
	delete(f.input.Jobs, task.Job)
	if err := f.pods.Add(task.Pod); err != nil {
		f.Fatal(err)
	}
}

// restart forgets everything that a process knows.
func (f *fixture) restart() { f.cache = NewCache(f.cache.Fleet) }

const requests = "cpu=4 nvidia.com/gpu=2"

func TestWhatRunsStaysChargedWhateverIsDeleted(t *testing.T) {
	annotated := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations[key] = value }
	}
	for _, c := range []struct {
		name string
		// change changes the pod before it runs.
		change func(*corev1.Pod)
		// gone is a deleted queue.
		gone string
		// restarted says that the scheduler was restarted in the meantime.
		restarted bool
		want      map[string]string
		// unattributed says that the queue is unknown.
		unattributed bool
	}{
		{name: "the PodGroup", want: map[string]string{"team": "4 2 2", "org": "4 2 2", "root": "4 2 2", "other": "0 0 0"}},
		{name: "the queue", gone: "team", want: map[string]string{"org": "4 2 2", "root": "4 2 2"}},
		{name: "the PodGroup, of a pod with a record", restarted: true, change: annotated(chargerecord.QueueAnnotation, "root/org/team"), want: map[string]string{"team": "4 2 2", "org": "4 2 2", "root": "4 2 2"}},
		{name: "the queue, of a pod with a record", restarted: true, gone: "team", change: annotated(chargerecord.QueueAnnotation, "root/org/team"), want: map[string]string{"org": "4 2 2", "root": "4 2 2"}},
		{name: "the PodGroup, of a pod that names its queue", restarted: true, change: annotated(upstreamv1beta1.QueueNameAnnotationKey, "team"), want: map[string]string{"team": "4 2 2", "root": "4 2 2"}},
		{name: "the PodGroup, of a pod of a Volcano Job", restarted: true, change: annotated("volcano.sh/queue-name", "team"), want: map[string]string{"team": "4 2 2", "root": "4 2 2"}},
		{name: "the record comes before what users write", restarted: true, change: func(pod *corev1.Pod) {
			pod.Annotations[chargerecord.QueueAnnotation], pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey] = "root/org/team", "other"
		}, want: map[string]string{"team": "4 2 2", "other": "0 0 0"}},
		{name: "all that names the queue", restarted: true, want: map[string]string{"root": "4 2 2", "team": "0 0 0"}, unattributed: true},
		{name: "the queue, which the pod names", restarted: true, gone: "team", change: annotated(upstreamv1beta1.QueueNameAnnotationKey, "team"), want: map[string]string{"root": "4 2 2", "org": "0 0 0"}, unattributed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("org", "root").queue("team", "org", quotaOf(`{"A": 2}`, 0)).queue("other", "root")
			task := f.job("p", "team", "n1", requests)
			if c.change != nil {
				c.change(task.Pod)
			}
			f.take().expectCharges(t, "before", map[string]string{"team": "4 2 2", "org": "4 2 2", "root": "4 2 2"})
			if c.restarted {
				f.restart()
			}
			f.drop(task)
			delete(f.input.Queues, api.QueueID(c.gone))
			for _, when := range []string{"after", "later"} {
				s := f.take()
				s.expectCharges(t, when, c.want)
				if pods, _ := s.Unattributed(); len(pods) > 0 != c.unattributed {
					t.Errorf("%s: %d pods are unattributed", when, len(pods))
				}
			}
			ended := task.Pod.DeepCopy()
			ended.Status.Phase = corev1.PodSucceeded
			if err := f.pods.Update(ended); err != nil {
				t.Fatal(err)
			}
			f.cache.strays.update(task.Pod, ended)
			f.take().expectCharges(t, "when the pod has ended", map[string]string{"root": "0 0 0"})
		})
	}
}

func TestPodsThatComeBackAreChargedOnce(t *testing.T) {
	f := newFixture(t).queue("team", "root")
	task := f.job("p", "team", "n1", requests)
	job := f.input.Jobs[task.Job]
	f.take()
	f.drop(task)
	f.take().expectCharges(t, "without its job", map[string]string{"team": "4 2 2", "root": "4 2 2"})
	f.input.Jobs[job.UID] = job
	f.take().expectCharges(t, "with its job again", map[string]string{"team": "4 2 2", "root": "4 2 2"})
	if len(f.cache.strays.pods) != 0 {
		t.Errorf("%d strays are left", len(f.cache.strays.pods))
	}
}

// TestOneGoesAsAnotherComes: the number of pods is the same in both sessions.
func TestOneGoesAsAnotherComes(t *testing.T) {
	f := newFixture(t).queue("team", "root").queue("other", "root")
	first, second := f.job("first", "team", "n1", requests), f.job("second", "other", "n1", requests)
	job := f.input.Jobs[first.Job]
	f.take()
	f.drop(first)
	f.take().expectCharges(t, "without the first", map[string]string{"team": "4 2 2", "other": "4 2 2", "root": "8 4 4"})
	f.input.Jobs[job.UID] = job
	f.drop(second)
	f.take().expectCharges(t, "without the second", map[string]string{"team": "4 2 2", "other": "4 2 2", "root": "8 4 4"})
}

func TestPodsOfAQueueWithoutAPlaceStayCharged(t *testing.T) {
	f := newFixture(t).queue("org", "root").queue("team", "org")
	f.job("p", "team", "n1", requests)
	f.take()
	f.queue("team", "nowhere")
	f.take().expectCharges(t, "after its parent is wrong", map[string]string{"org": "4 2 2", "root": "4 2 2"})
	f.queue("team", "org")
	f.take().expectCharges(t, "after it is right again", map[string]string{"team": "4 2 2", "org": "4 2 2", "root": "4 2 2"})
}

func TestPodsOfOtherSchedulersPayForCardsOnly(t *testing.T) {
	for _, c := range []struct{ name, requests, want string }{
		{"cards", requests, "0 0 2"},
		{"no cards", "cpu=4", "0 0 0"},
	} {
		f := newFixture(t).queue("team", "root")
		pod := podObject("p", "n1", c.requests)
		pod.Annotations, pod.Spec.SchedulerName = map[string]string{upstreamv1beta1.QueueNameAnnotationKey: "team"}, corev1.DefaultSchedulerName
		if err := f.pods.Add(pod); err != nil {
			t.Fatal(err)
		}
		s := f.take()
		s.expectCharges(t, c.name, map[string]string{"root": c.want, "team": "0 0 0"})
		pods, _ := s.Unattributed()
		if told := len(pods) == 1 && pods[0].Foreign; told != (c.want != "0 0 0") {
			t.Errorf("%s: unattributed are %v", c.name, pods)
		}
	}
}

func TestCardsStayTheSameThroughRelabellingAndARestart(t *testing.T) {
	f := newFixture(t).queue("team", "root")
	task := f.job("p", "team", "n1", requests)
	before := f.take()
	text := RecordOfCards(before.Known(task.Pod))
	*task.Pod = *chargerecord.OnPod(task.Pod, before.RecordOfQueue(before.Known(task.Pod).Queue), text)
	f.restart()
	for _, node := range []card.Node{
		{Model: "B", Offers: []card.Offer{{Resource: gpu, Card: "B", Count: 8}}},
		{},
	} {
		f.cache.Fleet.Set("n1", node)
		f.take().expectCharges(t, "on a node with "+node.Model, map[string]string{"team": "4 2 2"})
		f.restart()
	}
}

// TestARecordOnAPodThatWaitsCountsForNothing: a user can write the annotation.
func TestARecordOnAPodThatWaitsCountsForNothing(t *testing.T) {
	f := newFixture(t).queue("team", "root")
	task := f.job("p", "team", "", requests)
	task.Pod.Annotations[chargerecord.CardsAnnotation] = `{"nvidia.com/gpu":"A2"}`
	s := f.take()
	task.NodeName = "n1"
	pod := s.Known(task.Pod)
	s.AssignCards(pod, task)
	s.Allocate(pod, task)
	s.expectCharges(t, "when it gets a node", map[string]string{"team": "4 2 2"})
}

func TestStraysFollowPods(t *testing.T) {
	waiting, running := podObject("p", "", requests), podObject("p", "n1", requests)
	terminated := running.DeepCopy()
	terminated.Status.Phase = corev1.PodFailed
	other := running.DeepCopy()
	other.UID = types.UID("other")
	daemon := podObject("d", "n1", "cpu=1")
	daemon.Annotations, daemon.Spec.SchedulerName = nil, corev1.DefaultSchedulerName
	for _, step := range []struct {
		name string
		do   func(*strays)
		want int
	}{
		{"a pod gets a node", func(ss *strays) { ss.update(waiting, running) }, 1},
		{"a pod that runs changes", func(ss *strays) { ss.update(running, running) }, 0},
		{"a stray changes", func(ss *strays) { ss.add(running, nil); ss.update(running, running.DeepCopy()) }, 1},
		{"a stray ends", func(ss *strays) { ss.add(running, nil); ss.update(running, terminated) }, 0},
		{"a stray is deleted", func(ss *strays) { ss.add(running, nil); ss.deleted(running) }, 0},
		{"its deletion was missed", func(ss *strays) {
			ss.add(running, nil)
			ss.deleted(toolscache.DeletedFinalStateUnknown{Obj: running})
		}, 0},
		{"something else is deleted", func(ss *strays) { ss.add(running, nil); ss.deleted("what") }, 1},
		{"another pod takes its name", func(ss *strays) { ss.update(running, other) }, 1},
		{"a pod that waits", func(ss *strays) { ss.add(waiting, nil) }, 0},
		{"a pod of the system", func(ss *strays) { ss.add(daemon, nil) }, 0},
	} {
		ss := &strays{}
		step.do(ss)
		if len(ss.pods) != step.want {
			t.Errorf("%s: %d strays, want %d", step.name, len(ss.pods), step.want)
		}
	}
}

// TestAPodThatIsBeingBoundStaysCharged: a user deletes its PodGroup before the API server says that the pod is bound.
func TestAPodThatIsBeingBoundStaysCharged(t *testing.T) {
	for _, c := range []struct {
		name string
		// after is what happens to the binding.
		after func(*fixture, *corev1.Pod)
		want  string
	}{
		{"and the binding goes on", func(*fixture, *corev1.Pod) {}, "4 2 2"},
		{"and the pod changes", func(f *fixture, pod *corev1.Pod) { f.cache.strays.update(pod, pod.DeepCopy()) }, "4 2 2"},
		{"and is bound", func(f *fixture, pod *corev1.Pod) {
			bound := pod.DeepCopy()
			bound.Spec.NodeName = "n1"
			bound.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			if err := f.pods.Update(bound); err != nil {
				f.Fatal(err)
			}
			f.cache.strays.update(pod, bound)
		}, "4 2 2"},
		{"and the binding fails", func(f *fixture, pod *corev1.Pod) { f.cache.NotBinding(pod.UID) }, "0 0 0"},
		{"and is deleted", func(f *fixture, pod *corev1.Pod) {
			if err := f.pods.Delete(pod); err != nil {
				f.Fatal(err)
			}
			f.cache.strays.deleted(pod)
		}, "0 0 0"},
	} {
		f := newFixture(t).queue("team", "root")
		task := f.job("p", "team", "", requests)
		s := f.take()
		pod := s.Known(task.Pod)
		task.NodeName = "n1"
		s.AssignCards(pod, task)
		s.Allocate(pod, task)
		f.cache.Binding(task.Pod.UID, "n1")
		f.drop(task)
		f.take().expectCharges(t, "the PodGroup of a pod that is being bound is deleted", map[string]string{"team": "4 2 2"})
		c.after(f, task.Pod)
		for range 2 {
			f.take().expectCharges(t, c.name, map[string]string{"team": c.want, "root": c.want})
		}
		if c.want == "0 0 0" && len(f.cache.strays.pods)+len(f.cache.strays.binding) > 0 {
			t.Errorf("%s: something is remembered of the pod", c.name)
		}
	}
}

func TestAPodThatWaitsAgainIsNotBeingBound(t *testing.T) {
	f := newFixture(t).queue("team", "root")
	task := f.job("p", "team", "", requests)
	f.cache.Binding(task.Pod.UID, "n1")
	f.take()
	f.drop(task)
	f.take().expectCharges(t, "its binding failed", map[string]string{"team": "0 0 0"})
}

// TestAPodThatEndsWhileASessionFindsItIsNotCharged: the handler was notified of the end of the pod before the session added it.
func TestAPodThatEndsWhileASessionFindsItIsNotCharged(t *testing.T) {
	for _, end := range []struct {
		name string
		do   func(*fixture, *corev1.Pod)
	}{
		{"deleted", func(f *fixture, pod *corev1.Pod) {
			if err := f.pods.Delete(pod); err != nil {
				f.Fatal(err)
			}
			f.cache.strays.deleted(pod)
		}},
		{"succeeded", func(f *fixture, pod *corev1.Pod) {
			ended := pod.DeepCopy()
			ended.Status.Phase = corev1.PodSucceeded
			if err := f.pods.Update(ended); err != nil {
				f.Fatal(err)
			}
			f.cache.strays.update(pod, ended)
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			f := newFixture(t).queue("team", "root")
			task := f.job("p", "team", "n1", requests)
			f.take()
			f.drop(task)
			end.do(f, task.Pod)
			f.cache.strays.add(task.Pod, []string{"team", "root"})
			for _, when := range []string{"at once", "later"} {
				f.take().expectCharges(t, when, map[string]string{"team": "0 0 0", "root": "0 0 0"})
			}
			if len(f.cache.strays.pods) != 0 {
				t.Error("the pod is remembered")
			}
		})
	}
}
