// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// explained asks an open session a question.
func (s *fixture) explained(t *testing.T, ssn *framework.Session, kind, name string) (*v1alpha1.Explanation, error) {
	t.Helper()
	return ask(&Plugins{cache: s.cache}, ssn, kind, "ns", name)
}

// ask asks an open session a question, and lets it answer.
func ask(plugins *Plugins, ssn *framework.Session, kind, namespace, name string) (*v1alpha1.Explanation, error) {
	type reply struct {
		told *v1alpha1.Explanation
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		told, err := plugins.Publisher().Explain(context.Background(), kind, namespace, name)
		replies <- reply{told, err}
	}()
	for {
		plugins.Answer(ssn)
		select {
		case got := <-replies:
			return got.told, got.err
		default:
		}
	}
}

// waits returns the cause of a waiting pod or workload, and the failing check.
func (s *fixture) waits(t *testing.T, ssn *framework.Session, kind, name string) (cause, check string, told *v1alpha1.Explanation) {
	t.Helper()
	told, err := s.explained(t, ssn, kind, name)
	must(t, err)
	if told.State != v1alpha1.Waiting || told.Cause == nil {
		t.Fatalf("%s %s: %+v", kind, name, told)
	}
	for _, made := range told.Checks {
		if made.Result == v1alpha1.Failed {
			check = made.Name
		}
	}
	return told.Cause.Message, check, told
}

func TestExplanationsNameTheCheckThatFails(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("team", "ml", nil).queue("full", "root", capped(1))
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"ml": {Capability: counts(3)}})
	s.job("holder", "team", running, nil, s.claimed(2, newPod("holder", "n1", cpu(1))))
	s.job("quota", "team", inqueue, nil, s.claimed(2, newPod("quota", "", cpu(1))))
	s.job("large", "team", inqueue, nil, newPod("large", "", cpu(20)))
	lost := newPod("lost", "", cpu(1))
	lost.Spec.NodeSelector = map[string]string{"zone": "mars", "arch": "amd64"}
	s.job("lost", "team", inqueue, nil, s.claimed(2, lost))
	s.job("early", "full", pending, cpu(2), newPod("early", "", cpu(2)))
	s.job("gang", "team", inqueue, nil, newPod("gang-0", "", cpu(6)), newPod("gang-1", "", cpu(6)))
	ssn := s.act(t)
	for _, c := range []struct{ kind, name, check, cause string }{
		{"Pod", "quota", "Quota", "Queue <ml> has insufficient <h100> quota: requested <2>, total would be <4>, but capability is <3>"},
		{"PodGroup", "quota", "Gang", "Queue <ml> has insufficient <h100> quota: requested <2>, total would be <4>, but capability is <3>"},
		{"Pod", "large", "Quota", "No node has as much <cpu> as a pod requests, which is <20>: the largest has <8>. Queue <root> has insufficient <cpu> quota: requested <20>, total would be <21>, but capability is <8>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"Pod", "lost", "Quota", "No node has the labels that a pod selects: <arch=amd64,zone=mars>. Queue <ml> has insufficient <h100> quota: requested <2>, total would be <4>, but capability is <3>"},
		{"Pod", "early", "Admitted", "Queue <full> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <1>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"PodGroup", "early", "Quota", "Queue <full> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <1>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"Pod", "gang-1", "Quota", "Queue <root> has insufficient <cpu> quota: requested <6>"},
	} {
		cause, check, _ := s.waits(t, ssn, c.kind, c.name)
		if check != c.check || !strings.HasPrefix(cause, c.cause) {
			t.Errorf("%s %s: check %s fails because %q, want %s and %q", c.kind, c.name, check, cause, c.check, c.cause)
		}
	}
	if _, _, told := s.waits(t, ssn, "PodGroup", "early"); len(told.Holders) != 0 || len(told.Standings) == 0 {
		t.Errorf("nobody holds what is missing in queue full: %+v", told)
	}
	_, _, told := s.waits(t, ssn, "Pod", "quota")
	if len(told.Holders) != 1 || told.Holders[0].Name != "holder" || told.Cause.Queue != "ml" || told.Cause.Limit != "3" {
		t.Errorf("the holders of what is missing are %+v, the cause %+v", told.Holders, told.Cause)
	}
	if got := textOf(told.Asked); strings.Join(got, " ") != "cpu=1 h100=2 pods=1" {
		t.Errorf("the pod asks for %v", got)
	}
	if told, err := s.explained(t, ssn, "Pod", "holder"); err != nil || told.State != v1alpha1.Running || told.Node != "n1" || told.Cause != nil {
		t.Errorf("a pod that runs: %+v, %v", told, err)
	}
	if _, err := s.explained(t, ssn, "Pod", "nobody"); !errors.Is(err, visibility.ErrNotFound) {
		t.Errorf("a pod that does not exist: %v", err)
	}
}

func TestExplanationsNameTheVictims(t *testing.T) {
	s := lending()
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	ssn := s.open(t)
	_, _, told := s.waits(t, ssn, "Pod", "p") // before the actions run
	if e := told.Eviction; e == nil || !e.Possible || e.Rule != "reclaim" || len(e.Victims) != 1 || e.Victims[0].Queue != "lender" {
		t.Errorf("the eviction would be %+v", told.Eviction)
	}
	expectStatuses(t, ssn, "low-0:Running low-1:Running low-2:Running low-3:Running p:Pending")
}

func TestAQuestionThatPanicsHarmsNobody(t *testing.T) {
	s := newFixture(8).queue("root", "", nil)
	s.job("j", "root", inqueue, nil, newPod("p", "", cpu(1)))
	ssn := s.open(t)
	ssn.Jobs["ns/j"].PodGroup = nil
	if _, err := s.explained(t, ssn, "Pod", "p"); err == nil || !strings.Contains(err.Error(), "failed to explain Pod ns/p") {
		t.Errorf("got %v", err)
	}
	if said := logged.take(); !strings.Contains(said, "could not be answered") {
		t.Errorf("the log says %q", said)
	}
}

func TestAnExplanationNamesThoseThatHoldWhatIsMissingLongest(t *testing.T) {
	const pods = 2 * explain.MaxHolders
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(pods)}})
	for i := range pods {
		s.job(fmt.Sprint("j", i), "q", running, nil, s.claimed(1, since(newPod(fmt.Sprint("p", i), "n1", nil), 7*i%pods)))
	}
	s.job("late", "q", inqueue, nil, s.claimed(1, newPod("late", "", cpu(1))))
	_, _, told := s.waits(t, s.act(t), "Pod", "late")
	if len(told.Holders) != explain.MaxHolders {
		t.Fatalf("%d holders are named, want %d", len(told.Holders), explain.MaxHolders)
	}
	if told.MoreHolders != pods-explain.MaxHolders {
		t.Errorf("there are %d more, want %d", told.MoreHolders, pods-explain.MaxHolders)
	}
	for i, h := range told.Holders {
		if want := accountBegins.Add(time.Duration(i) * time.Second); !h.Since.Time.Equal(want) {
			t.Errorf("holder %d has held since %s, want %s", i, h.Since, want)
		}
	}
}

func TestAJobOfVolcanoWithoutAPodGroupIsExplained(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("team", "root", nil)
	ssn := s.act(t)
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "second"}, Spec: batchv1alpha1.JobSpec{Queue: "team"}}
	job.Status.State.Phase = batchv1alpha1.Completed
	s.cache.jobs = jobsOf(t, job)
	if told, err := s.explained(t, ssn, "Job", "second"); err != nil || told.State != v1alpha1.Ended || told.Queue != "team" || told.Subject.Kind != "Job" || told.Subject.Name != "second" {
		t.Errorf("a job that has ended: %+v, %v", told, err)
	}
	if _, err := s.explained(t, ssn, "Job", "nobody"); !errors.Is(err, visibility.ErrNotFound) {
		t.Errorf("a job that does not exist: %v", err)
	}
}
