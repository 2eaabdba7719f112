// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

func TestJobsWithCardsAreLetIn(t *testing.T) {
	for _, c := range []struct {
		name, request string
		pods          []*corev1.Pod
		want          string
		message       string
	}{
		{name: "what it says fits", request: `{"H100": 2, "A100": 3}`, want: "Inqueue"},
		{name: "one too many", request: `{"A100": 5}`, want: "Pending", message: "Queue <q> has insufficient <A100> quota: requested <5>, total would be <5>, but capability is <4>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a split", request: `{"H100|A100": 6}`, want: "Inqueue"},
		{name: "a split that does not fit", request: `{"H100|A100": 7}`, want: "Pending", message: "Queue <q> has insufficient <H100|A100> quota: requested <7>, total would be <7>, but capability is <6>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a split beside a fixed number", request: `{"H100|A100": 4, "A100": 3}`, want: "Pending", message: "Queue <q> has insufficient <H100|A100> quota: requested <4>, total would be <7>, but capability is <6>"},
		{name: "pods count, not what the job says", request: `{"A100": 5}`, pods: []*corev1.Pod{gpuPod("p", "", 4, "A100")}, want: "Inqueue"},
		{name: "all pods that are needed", pods: []*corev1.Pod{gpuPod("p", "", 2, "H100|A100"), gpuPod("r", "", 2, "H100|A100"), gpuPod("s", "", 3, "H100|A100")}, want: "Pending",
			message: "Queue <q> has insufficient <H100|A100> quota: requested <7>, total would be <7>, but capability is <6>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a request that makes no sense", request: `{"A100": 1.5}`, want: "Pending", message: "its annotation volcano.sh/card.request is wrong at character 12: 1.5 for A100 is not a whole number"},
		{name: "a name in it that makes no sense", request: `{"A100|": 1}`, want: "Pending", message: `its annotation volcano.sh/card.request is wrong in "A100|": at character 5: "" is not a card name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
			s.withCards(map[string]string{"q": `{"H100": 2, "A100": 4}`}).job("j", "q", scheduling.PodGroupPending, cpu(1), c.pods...)
			s.PodGroups[0].Spec.MinMember = max(1, int32(len(c.pods)))
			if c.request != "" {
				s.PodGroups[0].Annotations = map[string]string{card.RequestAnnotation: c.request}
			}
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New()})
			if got := phaseOf(ssn, "j"); got != c.want {
				t.Errorf("the job is %s, want %s", got, c.want)
			}
			framework.CloseSession(ssn)
			if c.message == "" {
				return
			}
			reason := refusals.InsufficientScalarQuotaReason
			if strings.Contains(c.message, "wrong") {
				reason = report.TaskRequestFailedReason
			}
			expectEvent(t, ssn.KubeClient(), "PodGroup", "j", reason, c.message)
		})
	}
}

// TestJobsThatWereLetInCount: what an admitted job may still take is not given to the next job.
func TestJobsThatWereLetInCount(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2, "A100": 4}`})
	s.requesting(t, inqueue, `{"H100|A100": 3}`).requesting(t, scheduling.PodGroupPending, `{"A100": 3}`).requesting(t, scheduling.PodGroupPending, `{"A100|H100": 1}`)
	ssn := s.open(t)
	s.Run([]framework.Action{enqueue.New()})
	if one, two := phaseOf(ssn, "j1"), phaseOf(ssn, "j2"); one != "Inqueue" || two != "Pending" {
		t.Errorf("j1 is %s, j2 is %s; three of six are spoken for, A100 has room for three, and then there is none", one, two)
	}
	p := pluginOf(ssn)
	if sum := p.cardsIn(ledger.Inqueue, "q", "H100") + " " + p.cardsIn(ledger.Inqueue, "q", "A100"); sum != "2 4" {
		t.Errorf("jobs that have been admitted take %s, want 2 H100 and 4 A100", sum)
	}
}

// TestSplitsComeLast: cards that a job may choose among are reserved where other jobs leave room.
func TestSplitsComeLast(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 4, "A100": 4}`})
	s.requesting(t, inqueue, `{"H100|A100": 4}`).requesting(t, inqueue, `{"H100": 4}`).requesting(t, scheduling.PodGroupPending, `{"A100": 4}`)
	ssn := s.open(t)
	s.Run([]framework.Action{enqueue.New()})
	if got := phaseOf(ssn, "j2"); got != "Pending" {
		t.Errorf("the third job for four cards of eight is %s", got)
	}
}

// requesting adds a job without pods that states its needs itself.
func (s *fixture) requesting(t *testing.T, phase scheduling.PodGroupPhase, request string) *fixture {
	t.Helper()
	i := len(s.PodGroups)
	s.job(fmt.Sprint("j", i), "q", phase, cpu(1))
	s.PodGroups[i].Spec.MinMember = 1
	s.PodGroups[i].CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
	s.PodGroups[i].Annotations = map[string]string{card.RequestAnnotation: request}
	return s
}

// TestReservationsLastWhilePodsAreMade: a job needs no less once its first pod exists.
func TestReservationsLastWhilePodsAreMade(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"H100": 4}`})
	s.job("a", "q", inqueue, cpu(4), gpuPod("a0", "n1", 1, "H100"), gpuPod("a1", "", 1, "H100"))
	s.PodGroups[0].Spec.MinMember = 4
	s.PodGroups[0].Annotations = map[string]string{card.RequestAnnotation: `{"H100": 4}`}
	s.requesting(t, scheduling.PodGroupPending, `{"H100": 1}`)
	ssn := s.open(t)
	s.Run([]framework.Action{enqueue.New()})
	if got := phaseOf(ssn, "j1"); got != "Pending" {
		t.Errorf("a job for one card more is %s", got)
	}
	if got := pluginOf(ssn).cardsIn(ledger.Inqueue, "q", "H100"); got != "3" {
		t.Errorf("%s are kept for the job, want 3", got)
	}
}

// TestPodsThatMakeNoSenseReserveNothing: these pods wait, and other pods continue.
func TestPodsThatMakeNoSenseReserveNothing(t *testing.T) {
	for _, names := range []string{"H100||A100", "B200"} {
		s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
		s.withCards(map[string]string{"q": `{"H100": 2}`})
		s.job("bad", "q", inqueue, nil, gpuPod("bad", "", 2, names))
		s.job("pending", "q", scheduling.PodGroupPending, cpu(1), gpuPod("pending", "", 2, names))
		s.job("good", "q", scheduling.PodGroupPending, cpu(1), gpuPod("good", "", 2, "H100"))
		ssn := s.open(t)
		s.Run([]framework.Action{enqueue.New(), allocate.New()})
		if got := nodesOf(ssn); got != "bad@ good@n1 pending@" || phaseOf(ssn, "pending") != "Inqueue" {
			t.Errorf("beside pods that name %s: %s, the other job is %s", names, got, phaseOf(ssn, "pending"))
		}
	}
}

func phaseOf(ssn *framework.Session, job string) string {
	return string(ssn.Jobs[api.JobID("ns/"+job)].PodGroup.Status.Phase)
}

// TestWhatAdmittedJobsMayChooseCounts: otherwise, too many jobs for the quota are admitted, and their pods wait.
func TestWhatAdmittedJobsMayChooseCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		quota map[string]int64
		// first is the phase of the first of three jobs.
		first scheduling.PodGroupPhase
		want  string
	}{
		{"a job that was admitted before", map[string]int64{h100: 1, "a100": 1}, inqueue, "Inqueue Inqueue Pending"},
		{"jobs that are admitted in this session", map[string]int64{h100: 1, "a100": 1}, pending, "Inqueue Inqueue Pending"},
		{"room for all", map[string]int64{h100: 1, "a100": 2}, inqueue, "Inqueue Inqueue Inqueue"},
		{"room for one", map[string]int64{h100: 0, "a100": 1}, pending, "Inqueue Pending Pending"},
		{"room for none", map[string]int64{h100: 0, "a100": 0}, pending, "Pending Pending Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
			s.withModels("requested", map[string]schedulingv1beta1.DRAQuota{"q": capability(c.quota)}, nil)
			for i, phase := range []scheduling.PodGroupPhase{c.first, pending, pending} {
				name := fmt.Sprint("j", i)
				s.job(name, "q", phase, cpu(1), s.asking(h100, "", newPod(name, "", cpu(1))))
				request := &s.ResourceClaims[i].Spec.Devices.Requests[0]
				for _, class := range []string{h100, "a100"} {
					request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
						Name: class, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
					})
				}
				request.Exactly = nil
			}
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New()})
			if got := fmt.Sprint(phaseOf(ssn, "j0"), " ", phaseOf(ssn, "j1"), " ", phaseOf(ssn, "j2")); got != c.want {
				t.Errorf("the jobs are %s, want %s", got, c.want)
			}
		})
	}
}
