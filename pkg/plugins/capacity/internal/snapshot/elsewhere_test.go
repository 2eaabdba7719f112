// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestWhatRunsStaysChargedWhenItsJobIsInAnotherQueue: the PodGroup was moved, or replaced by another one of the same name.
func TestWhatRunsStaysChargedWhenItsJobIsInAnotherQueue(t *testing.T) {
	kept := map[string]string{"team": "4 2 2", "org": "4 2 2", "root": "4 2 2", "other": "0 0 0"}
	moved := map[string]string{"team": "0 0 0", "org": "0 0 0", "root": "4 2 2", "other": "4 2 2"}
	for _, c := range []struct {
		name     string
		node     string
		recorded string
		gone     string
		want     map[string]string
		// later is what is charged after a restart, if it differs.
		later map[string]string
	}{
		{name: "a pod with a record", node: "n1", recorded: "root/org/team", want: kept},
		{name: "a pod without a record", node: "n1", want: kept, later: moved},
		{name: "a pod whose recorded queue is gone", node: "n1", recorded: "root/org/team", gone: "team", want: map[string]string{"org": "4 2 2", "root": "4 2 2", "other": "0 0 0"}},
		{name: "a pod that waits", recorded: "root/org/team", want: map[string]string{"team": "0 0 0", "other": "0 0 0", "root": "0 0 0"}},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				f := newFixture(t).queue("org", "root").queue("team", "org", quotaOf(`{"A": 2}`, 0)).queue("other", "root", quotaOf(`{"A": 0}`, 0))
				task := f.job("p", "team", c.node, requests)
				*task.Pod = *chargerecord.OnPod(task.Pod, c.recorded, "")
				f.take()
				want := c.want
				if restarted {
					f.restart()
					if c.later != nil {
						want = c.later
					}
				}
				job := f.input.Jobs[task.Job]
				job.Queue, job.PodGroup.Spec.Queue = "other", "other"
				delete(f.input.Queues, api.QueueID(c.gone))
				for _, when := range []string{"after", "later"} {
					f.take().expectCharges(t, when, want)
				}
				ended := task.Pod.DeepCopy()
				ended.Status.Phase = corev1.PodSucceeded
				delete(f.input.Jobs, task.Job)
				if err := f.pods.Add(ended); err != nil {
					t.Fatal(err)
				}
				f.cache.strays.update(task.Pod, ended)
				f.take().expectCharges(t, "when the pod has ended", map[string]string{"root": "0 0 0"})
			})
		}
	}
}

// TestAPodWhoseJobIsInAnotherQueueCanBeEvicted: the queue that is charged gets the amounts back.
func TestAPodWhoseJobIsInAnotherQueueCanBeEvicted(t *testing.T) {
	f := newFixture(t).queue("team", "root", quotaOf(`{"A": 2}`, 0)).queue("other", "root", quotaOf(`{"A": 2}`, 0))
	task := f.job("p", "other", "n1", requests)
	*task.Pod = *chargerecord.OnPod(task.Pod, "root/team", "")
	s := f.take()
	pod, err := s.PodOf(task)
	if err != nil || s.Ledger.Name(pod.Queue) != "team" {
		t.Fatalf("the pod cannot be refunded: %v", err)
	}
	s.Deallocate(pod, task, nil)
	s.expectCharges(t, "when the pod is evicted", map[string]string{"team": "0 0 0", "other": "0 0 0"})
}

// TestAChangedRecordMovesNothing: users who may change a pod cannot move its charge while the scheduler runs.
func TestAChangedRecordMovesNothing(t *testing.T) {
	f := newFixture(t).queue("team", "root", quotaOf(`{"A": 2}`, 0)).queue("other", "root", quotaOf(`{"A": 2}`, 0))
	task := f.job("p", "team", "n1", requests)
	*task.Pod = *chargerecord.OnPod(task.Pod, "root/team", "")
	f.take()
	for _, renewed := range []bool{false, true} {
		if renewed {
			f.cache.Renew()
		}
		task.Pod = chargerecord.OnPod(task.Pod, "root/other", "")
		f.take().expectCharges(t, "when the record has changed", map[string]string{"team": "4 2 2", "other": "0 0 0"})
	}
}

// TestAPodThatIsBeingBoundStaysChargedWhenItsJobMoves: its record has not been written yet.
func TestAPodThatIsBeingBoundStaysChargedWhenItsJobMoves(t *testing.T) {
	f := newFixture(t).queue("team", "root").queue("other", "root")
	task := f.job("p", "team", "", requests)
	job := f.input.Jobs[task.Job]
	s := f.take()
	pod, err := s.PodOf(task)
	if err != nil {
		t.Fatal(err)
	}
	s.RememberQueue(pod, []string{"team", "root"})
	task.Status, task.NodeName = api.Binding, "n1"
	job.Queue, job.PodGroup.Spec.Queue = "other", "other"
	f.take().expectCharges(t, "while it is being bound", map[string]string{"team": "4 2 2", "other": "0 0 0"})
	task.Status, task.NodeName = api.Pending, ""
	f.take().expectCharges(t, "when that has failed", map[string]string{"team": "0 0 0", "other": "0 0 0"})
	task.Status, task.NodeName = api.Running, "n1"
	f.take().expectCharges(t, "when it runs after all", map[string]string{"team": "0 0 0", "other": "4 2 2"})
}

// TestAJobThatHasMovedNeedsNothingForPodsThatRun: these pods are charged to the queue in which they got their nodes.
func TestAJobThatHasMovedNeedsNothingForPodsThatRun(t *testing.T) {
	for _, c := range []struct {
		name, minimum, cards string
		phase                scheduling.PodGroupPhase
		least                int32
		want                 string
	}{
		{"the minimum runs", "cpu=4", `{"A": 2}`, scheduling.PodGroupRunning, 1, "0 0"},
		{"a pod of the minimum is missing", "cpu=8", `{"A": 4}`, scheduling.PodGroupInqueue, 2, "4 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("team", "root", quotaOf(`{"A": 8}`, 0)).queue("other", "root", quotaOf(`{"A": 8}`, 0))
			task := f.job("p", "other", "n1", requests)
			*task.Pod = *chargerecord.OnPod(task.Pod, "root/team", "")
			group, minimum := f.input.Jobs[task.Job].PodGroup, list(c.minimum)
			group.Status.Phase, group.Spec.MinResources, group.Spec.MinMember = c.phase, &minimum, c.least
			group.Annotations = map[string]string{card.RequestAnnotation: c.cards}
			s := f.take()
			other, _ := s.Ledger.Queue("other")
			balances := func(account ledger.Account) string {
				var texts []string
				for _, d := range []ledger.Dimension{{Kind: ledger.Resource, Name: "cpu"}, {Kind: ledger.Card, Name: "A"}} {
					texts = append(texts, s.Ledger.Balance(other, account, s.Dimensions.Ordinal(d)).String())
				}
				return strings.Join(texts, " ")
			}
			for account, want := range map[ledger.Account]string{ledger.Inqueue: c.want, ledger.Elastic: "0 0", ledger.Request: "0 0"} {
				if got := balances(account); got != want {
					t.Errorf("account %v of the queue of the job has %s, want %s", account, got, want)
				}
			}
		})
	}
}

// TestAQueueThatWasMovedAndThenDeletedIsPaidForWhereItWas: those above it when the pod got its node have not had the pod since.
func TestAQueueThatWasMovedAndThenDeletedIsPaidForWhereItWas(t *testing.T) {
	for _, recorded := range []string{"root/org/team", ""} {
		f := newFixture(t).queue("org", "root").queue("team", "org").queue("above", "root").queue("other", "root")
		task := f.job("p", "team", "n1", requests)
		*task.Pod = *chargerecord.OnPod(task.Pod, recorded, "")
		f.take()
		f.input.Jobs[task.Job].Queue = "other"
		f.queue("team", "above").take().expectCharges(t, "when it is moved", map[string]string{"org": "0 0 0", "above": "4 2 2", "other": "0 0 0"})
		delete(f.input.Queues, "team")
		for range 2 {
			f.take().expectCharges(t, "when it is deleted", map[string]string{"org": "0 0 0", "above": "4 2 2", "other": "0 0 0"})
		}
		f.queue("team", "org").take().expectCharges(t, "when it is back", map[string]string{"team": "4 2 2", "org": "4 2 2", "above": "0 0 0"})
	}
}
