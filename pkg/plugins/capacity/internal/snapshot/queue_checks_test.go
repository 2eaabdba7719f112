// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

func message(refusal report.Refusal) string {
	if refusal == nil {
		return ""
	}
	return refusal.Message()
}

func TestQueuesThatTakePods(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		state       scheduling.QueueState
		want        string
	}{
		{name: "an open queue", queue: "leaf"},
		{name: "a queue that is closing", queue: "leaf", state: scheduling.QueueStateClosing, want: `Queue <leaf> takes no pods: its state is "Closing", not Open`},
		{name: "a queue without a state", queue: "leaf", state: scheduling.QueueStateUnknown, want: `Queue <leaf> takes no pods: its state is "Unknown", not Open`},
		{name: "a queue with children", queue: "parent", want: "Queue <parent> takes no pods, because other queues are below it: use one of those"},
		{name: "a queue without a parent", queue: "lost", want: "Queue <lost> takes no pods: its parent gone does not exist: create that queue or change spec.parent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("parent", "root").queue("leaf", "parent").queue("lost", "gone")
			task := f.job("p", c.queue, "", "cpu=1")
			s := f.take()
			info := s.Queues[api.QueueID(c.queue)]
			if c.state != "" {
				info.Queue.Status.State = c.state
			}
			if _, refusal := s.Queue(info); message(refusal) != c.want {
				t.Errorf("Queue says %q, want %q", message(refusal), c.want)
			}
			// The pod remembers its queue, which must not matter.
			queue, refusal := s.QueueFor(s.Known(task.Pod), info)
			if message(refusal) != c.want {
				t.Errorf("QueueFor says %q, want %q", message(refusal), c.want)
			}
			if refusal == nil && s.Ledger.Name(queue) != c.queue {
				t.Errorf("QueueFor returns queue %s", s.Ledger.Name(queue))
			}
		})
	}
}

func TestQueueForReturnsTheQueueThatIsAskedFor(t *testing.T) {
	f := newFixture(t).queue("own", "root").queue("other", "root")
	task := f.job("p", "own", "", "cpu=1")
	s := f.take()
	if queue, refusal := s.QueueFor(s.Known(task.Pod), s.Queues["other"]); refusal != nil || s.Ledger.Name(queue) != "other" {
		t.Errorf("got queue %s, refusal %q", s.Ledger.Name(queue), message(refusal))
	}
}

// TestReadiness asks about queue leaf, which is below parent.
func TestReadiness(t *testing.T) {
	const unread = "its quota has not been read from the API server yet"
	for _, c := range []struct {
		name           string
		change         func(*fixture)
		devices, cards string
	}{
		{name: "all quotas are known", change: func(*fixture) {}},
		{
			name: "the queue has not been read", change: func(f *fixture) { f.delete("leaf") },
			devices: "Queue <leaf> cannot use devices: " + unread, cards: "Queue <leaf> cannot use cards: " + unread,
		},
		{
			name: "an ancestor has not been read", change: func(f *fixture) { f.delete("parent") },
			devices: "Queue <parent> cannot use devices: " + unread, cards: "Queue <parent> cannot use cards: " + unread,
		},
		{
			name: "the queue was deleted and created again", change: func(f *fixture) { f.input.Queues["leaf"].Queue.UID = "another" },
			devices: "Queue <leaf> cannot use devices: " + unread, cards: "Queue <leaf> cannot use cards: " + unread,
		},
		{name: "another queue has not been read", change: func(f *fixture) { f.delete("sibling") }},
		{
			name: "a quota of devices is invalid", change: func(f *fixture) { f.queue("leaf", "parent", quotaOf("", -1)) },
			devices: "Queue <leaf> cannot use devices: its spec.dra.capability[h100].count is -1: set it to zero or more",
		},
		{
			name: "a quota of devices is missing, and the last valid one cannot be read", change: func(f *fixture) {
				f.queue("leaf", "parent", func(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
					object.Annotations = map[string]string{schedulingv1beta1.LastValidQuotaAnnotation: "8"}
				})
			},
			devices: "Queue <leaf> cannot use devices: its spec.dra is missing, and its annotation volcano.sh/last-valid-quota, which should say what it was, cannot be read (it is not of the form {\"uid\": \"...\", \"generation\": 1, \"dra\": {...}, \"cards\": \"...\"}): set spec.dra again, or delete the annotation if the queue should have no quota",
		},
		{name: "a card quota is invalid, of which the last valid one holds", change: func(f *fixture) { f.queue("leaf", "parent", quotaOf("8 H100", 1)) }},
		{name: "spec.dra is not read", change: func(f *fixture) { f.delete("leaf"); f.input.Quotas = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("parent", "root").queue("leaf", "parent").queue("sibling", "root")
			c.change(f)
			s := f.take()
			leaf, _ := s.Ledger.Queue("leaf")
			for _, answer := range []struct {
				name string
				got  *report.NotReady
				want string
			}{{"DeviceQuotaNotReady", s.DeviceQuotaNotReady(leaf), c.devices}, {"CardQuotaNotReady", s.CardQuotaNotReady(leaf), c.cards}} {
				var got string
				if answer.got != nil {
					got = answer.got.Message()
				}
				if got != answer.want {
					t.Errorf("%s says %q, want %q", answer.name, got, answer.want)
				}
			}
		})
	}
}

// delete makes a queue unread: the API server has not delivered it yet.
func (f *fixture) delete(queue string) {
	f.Helper()
	if err := f.objects.Delete(&schedulingv1beta1.Queue{ObjectMeta: f.input.Queues[api.QueueID(queue)].Queue.ObjectMeta}); err != nil {
		f.Fatal(err)
	}
}

func TestRefusalsOfCardsSayWhetherThereIsAQuota(t *testing.T) {
	f := newFixture(t).queue("listed", "root", quotaOf(`{"A": 1}`, 1)).queue("below", "listed").queue("none", "root")
	s := f.take()
	for queue, want := range map[string]bool{"listed": false, "below": false, "none": true} {
		id, _ := s.Ledger.Queue(queue)
		for kind, want := range map[ledger.Kind]bool{ledger.Card: want, ledger.DeviceCount: false} {
			got := s.Refuse(id, &ledger.Refusal{Queue: queue, Dimension: ledger.Dimension{Kind: kind, Name: "A"}}).(report.QuotaExceeded)
			if got.NoCardQuota != want {
				t.Errorf("queue %s, kind %d: there is no card quota: %t, want %t", queue, kind, got.NoCardQuota, want)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	f := newFixture(t)
	f.queue("little", "root", deserves("cpu=10")).queue("little-a", "little", deserves("cpu=1")).queue("little-b", "little", deserves("cpu=4"))
	f.queue("much", "root", deserves("cpu=10")).queue("much-a", "much", deserves("cpu=10"))
	f.job("la", "little-a", "n1", "cpu=1")
	f.job("lb", "little-b", "n1", "cpu=1")
	f.job("ma", "much-a", "n1", "cpu=5")
	s := f.take()
	for _, c := range []struct {
		name, l, r string
		want       int
	}{
		{"siblings by their shares", "little-b", "little-a", -1},
		{"and the other way round", "little-a", "little-b", 1},
		{"cousins by the shares of their branches", "little-a", "much-a", -1},
		{"a leaf before any other queue", "much-a", "little", -1},
		{"any other queue after a leaf", "little", "much-a", 1},
		{"parents by their shares", "much", "little", 1},
		{"the same queue", "much-a", "much-a", 0},
		{"a queue that does not exist", "gone", "much-a", 0},
	} {
		if got := s.CompareQueues(c.l, c.r); got != c.want {
			t.Errorf("%s: %s against %s is %d, want %d", c.name, c.l, c.r, got, c.want)
		}
	}
	for _, c := range []struct {
		name, l, r, preemptor string
		want                  int
	}{
		{"a sibling of the preemptor comes first", "little-b", "much-a", "little-a", -1},
		{"a cousin comes last", "much-a", "little-b", "little-a", 1},
		{"two siblings", "little-a", "little-b", "little-b", 0},
		{"a queue that does not exist", "gone", "much-a", "little-a", 0},
		{"a preemptor whose queue does not exist", "little-a", "much-a", "gone", 0},
	} {
		if got := s.CompareVictimQueues(c.l, c.r, c.preemptor); got != c.want {
			t.Errorf("%s: %s against %s is %d, want %d", c.name, c.l, c.r, got, c.want)
		}
	}
}

func TestHoldsCards(t *testing.T) {
	f := newFixture(t)
	f.queue("ml", "root", quotaOf(`{"A": 8}`, 1)).queue("team", "ml").queue("other", "root", quotaOf(`{"A": 8}`, 1))
	tasks := map[string]*api.TaskInfo{
		"holder": f.job("holder", "team", "n1", "nvidia.com/gpu=1"), "plain": f.job("plain", "team", "n1", "cpu=1"),
		"waits": f.job("waits", "team", "", "nvidia.com/gpu=1"), "unknown": api.NewTaskInfo(podObject("unknown", "n1", "nvidia.com/gpu=1")),
	}
	s := f.take()
	a := s.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "A"})
	b := s.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "B"})
	for _, c := range []struct {
		name, pod, queue string
		card             ledger.Ordinal
		want             bool
	}{
		{"a pod of the queue", "holder", "team", a, true},
		{"a pod of a descendant", "holder", "ml", a, true},
		{"a pod of another queue", "holder", "other", a, false},
		{"another card", "holder", "team", b, false},
		{"a pod without cards", "plain", "team", a, false},
		{"a pod that has no cards yet", "waits", "team", a, false},
		{"a pod that the session lacks", "unknown", "team", a, false},
		{"a queue that does not exist", "holder", "gone", a, false},
	} {
		node := api.NewNodeInfo(&corev1.Node{})
		node.Tasks[api.TaskID(c.pod)] = tasks[c.pod]
		if got := s.HoldsCards(node, c.queue, c.card); got != c.want {
			t.Errorf("%s: holds cards: %t, want %t", c.name, got, c.want)
		}
	}
}
