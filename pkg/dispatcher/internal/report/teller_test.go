// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// tellerFixture is a teller whose events can be read.
type tellerFixture struct {
	*testing.T
	teller
	written *record.FakeRecorder
	now     time.Time
}

func newTeller(t *testing.T) *tellerFixture {
	f := &tellerFixture{T: t, written: record.NewFakeRecorder(10), now: noon}
	f.written.IncludeObject = true
	f.events = newEvents(f.written)
	return f
}

// cycles runs a cycle. It returns the number of decisions that were news, and the events on bindings.
func (f *tellerFixture) cycles(workloads []*framework.Workload, decisions ...Decision) string {
	f.begin(&framework.Snapshot{Workloads: workloads})
	news := 0
	for i := range decisions {
		if f.tell(&decisions[i], f.now) {
			news++
		}
	}
	var all []string
	for f.events.waits() {
		f.events.writeNext()
		<-f.written.Events // the same event on the object
		message, _, _ := strings.Cut(<-f.written.Events, " involvedObject")
		all = append(all, message)
	}
	return fmt.Sprintf("%d news: %s", news, strings.Join(all, "; "))
}

func short(used int) *framework.Refusal {
	return &framework.Refusal{
		Reason: "InsufficientCPUQuota", Message: fmt.Sprintf("total would be <%d>", used), Scope: framework.Scope{Queue: "team", Dimension: cpu},
	}
}

func TestPeopleAreToldNews(t *testing.T) {
	f := newTeller(t)
	waits, running := job("train", "team"), granted("train", "team", units(cpu, 2))
	ended := granted("train", "team", units(cpu, 2))
	ended.State.Finished, ended.State.Ended = true, "Completed in member1"
	grant := &binding.Grant{Queue: "team", Amounts: []binding.Amount{units(cpu, 2)}}
	const grants = "Normal Granted Queue <team> grants <2> of cpu: Karmada may choose clusters now"
	for _, c := range []struct {
		name      string
		after     time.Duration
		workload  *framework.Workload
		decisions []Decision
		want      string
	}{
		{"a workload comes", 0, waits, []Decision{Held(waits, short(9))}, "1 news: Warning InsufficientCPUQuota total would be <9>"},
		{"it waits", time.Hour, waits, []Decision{Held(waits, short(9))}, "0 news: "},
		{"the numbers change", 0, waits, []Decision{Held(waits, short(10))}, "0 news: Warning InsufficientCPUQuota total would be <10>"},
		{"they change soon again", time.Second, waits, []Decision{Held(waits, short(11))}, "0 news: "},
		{"they are old", refreshAfter, waits, []Decision{Held(waits, short(12))}, "0 news: Warning InsufficientCPUQuota total would be <12>"},
		{"the policy is gone", 0, waits, []Decision{NoPolicy(waits)}, "1 news: Warning NoPolicy " + NoPolicy(waits).Message},
		{"the policy is back, and there is room", 0, waits, []Decision{Held(waits, short(9)), Granted(waits, grant)}, "2 news: " + grants},
		{"it runs", 0, running, nil, "0 news: "},
		{"its grants in vain are forgotten", 0, running, []Decision{{Workload: running}}, "0 news: "},
		{"it waits again", 0, waits, []Decision{Held(waits, short(9))}, "1 news: Warning InsufficientCPUQuota total would be <9>"},
		{"it is granted room twice", 0, waits, []Decision{Granted(waits, grant)}, "1 news: " + grants},
		{"at once again", 0, waits, []Decision{Granted(waits, grant)}, "1 news: " + grants},
		{"a cluster has not answered", 0, running, []Decision{StillCharged(running, "it has not answered", false)}, "1 news: Normal StillCharged " + StillCharged(running, "it has not answered", false).Message},
		{"it has answered", time.Second, running, []Decision{StillCharged(running, "it has 2 pods", true)}, "1 news: Normal StillCharged " + StillCharged(running, "it has 2 pods", true).Message},
		{"it has fewer pods", time.Second, running, []Decision{StillCharged(running, "it has 1 pod", true)}, "0 news: "},
		{"it ends", 0, ended, []Decision{Finished(ended)}, "1 news: Normal Finished Job ns/train has ended (Completed in member1): queue <team> is no longer charged for it"},
		{"it has ended", time.Hour, ended, []Decision{Finished(ended)}, "0 news: "},
	} {
		f.now = f.now.Add(c.after)
		if got := f.cycles([]*framework.Workload{c.workload}, c.decisions...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestACycleIsDueWhenOldNumbersMayBeRenewed(t *testing.T) {
	f := newTeller(t)
	first, second := job("first", "team"), job("second", "team")
	all := []*framework.Workload{first, second}
	for _, c := range []struct {
		name  string
		after time.Duration
		used  []int
		want  string
		due   time.Time
	}{
		{"one comes", 0, []int{9}, "1 news: Warning InsufficientCPUQuota total would be <9>", time.Time{}},
		{"another comes", time.Minute, []int{9, 7}, "1 news: Warning InsufficientCPUQuota total would be <7>", time.Time{}},
		{"all numbers change", time.Second, []int{10, 8}, "0 news: ", noon.Add(refreshAfter)},
		{"nothing changes", time.Second, []int{10, 8}, "0 news: ", noon.Add(refreshAfter)},
		{
			"the cycle that is due", refreshAfter - time.Minute - 2*time.Second, []int{10, 8},
			"0 news: Warning InsufficientCPUQuota total would be <10>", noon.Add(refreshAfter + time.Minute),
		},
		{"the next one", time.Minute, []int{10, 8}, "0 news: Warning InsufficientCPUQuota total would be <8>", time.Time{}},
		{"they change again", time.Second, []int{11, 8}, "0 news: ", noon.Add(2 * refreshAfter)},
		{"and back, so that what people know is right", time.Second, []int{10, 8}, "0 news: ", time.Time{}},
	} {
		f.now = f.now.Add(c.after)
		var decisions []Decision
		for i, used := range c.used {
			decisions = append(decisions, Held(all[i], short(used)))
		}
		if got := f.cycles(all, decisions...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !f.due.Equal(c.due) {
			t.Errorf("%s: a cycle is due at %s, want %s", c.name, f.due, c.due)
		}
	}
}

func TestWhatEndedBeforeTheDispatcherStartedIsNoNews(t *testing.T) {
	f := newTeller(t)
	ended := granted("train", "team", units(cpu, 2))
	ended.State.Finished = true
	if got := f.cycles([]*framework.Workload{ended}, Finished(ended)); got != "0 news: " {
		t.Errorf("%q", got)
	}
}

func TestWhatIsEstimatedIsToldOnce(t *testing.T) {
	f := newTeller(t)
	w := granted("train", "team", units(cpu, 2))
	w.Needs.Notice = "Kind Train is not known: its replicas are counted as Karmada does"
	const want = "0 news: Warning NeedsEstimated Kind Train is not known: its replicas are counted as Karmada does"
	if got := f.cycles([]*framework.Workload{w}); got != want {
		t.Errorf("the first cycle: %q, want %q", got, want)
	}
	if got := f.cycles([]*framework.Workload{w}); got != "0 news: " {
		t.Errorf("the second cycle: %q", got)
	}
	if got := f.cycles(nil); got != "0 news: " || len(f.told) != 0 {
		t.Errorf("the binding is gone: %q, and %d workloads are remembered", got, len(f.told))
	}
	if got := f.cycles([]*framework.Workload{w}); got != want {
		t.Errorf("a new binding: %q, want %q", got, want)
	}
}

func TestNobodyIsToldOfWhatIsGone(t *testing.T) {
	f := newTeller(t)
	w := job("train", "team")
	w.Needs.Notice = "something is estimated"
	held := Held(w, short(9))
	f.begin(&framework.Snapshot{Workloads: []*framework.Workload{w}})
	f.tell(&held, f.now)
	if got := f.cycles(nil, held); got != "0 news: " {
		t.Errorf("the binding is gone: %q", got)
	}
}

func TestAQueueWhoseQuotaCannotBeReadIsToldOnce(t *testing.T) {
	f := newTeller(t)
	queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "team"}}
	tell := func(err error) []string {
		f.tellQueues(&framework.Snapshot{Queues: map[string]*schedulingv1beta1.Queue{"team": queue}, Limits: map[string]framework.QueueLimits{"team": {Err: err}}})
		for f.events.waits() {
			f.events.writeNext()
		}
		var all []string
		for len(f.written.Events) > 0 {
			all = append(all, <-f.written.Events)
		}
		return all
	}
	const want = "Warning QuotaNotRead volcano.sh/card.quota: no JSON; until then, nothing more is granted in the queue involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}"
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"it can be read", nil, "[]"},
		{"it cannot be read", errors.New("volcano.sh/card.quota: no JSON"), "[" + want + "]"},
		{"still not", errors.New("volcano.sh/card.quota: no JSON"), "[]"},
		{"it is corrected", nil, "[]"},
		{"it is spoiled again", errors.New("volcano.sh/card.quota: no JSON"), "[" + want + "]"},
	} {
		if got := fmt.Sprint(tell(c.err)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTenThousandHeldWorkloadsAreNotToldInEachCycle: their numbers change whenever one of them starts.
func TestTenThousandHeldWorkloadsAreNotToldInEachCycle(t *testing.T) {
	f := newTeller(t)
	all := make([]*framework.Workload, 10_000)
	for i := range all {
		all[i] = job(fmt.Sprint("j", i), "team")
	}
	for cycle := range 5 {
		f.begin(&framework.Snapshot{Workloads: all})
		for _, w := range all {
			held := Held(w, short(cycle))
			f.tell(&held, f.now)
		}
		if got := len(f.events.backlog.notes); got != len(all) {
			t.Fatalf("cycle %d: %d events wait, want one for each workload", cycle, got)
		}
		f.now = f.now.Add(time.Second)
	}
}

func TestEventsAreOnTheBindingAndTheObject(t *testing.T) {
	kube := fake.NewClientset()
	created := make(chan *corev1.Event, 2)
	kube.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created <- action.(clienttesting.CreateAction).GetObject().(*corev1.Event)
		return false, nil, nil
	})
	events := StartEvents(t.Context(), kube)
	t.Cleanup(events.Shutdown) // after the context has ended
	teller := teller{events: events}
	w := job("train", "team")
	teller.begin(&framework.Snapshot{Workloads: []*framework.Workload{w}})
	held := Held(w, short(9))
	teller.tell(&held, noon)
	for _, want := range []string{
		"ns batch/v1 Job train template-train: Warning InsufficientCPUQuota total would be <9> from vc-dispatcher",
		"ns work.karmada.io/v1alpha2 ResourceBinding train-job train: Warning InsufficientCPUQuota total would be <9> from vc-dispatcher",
	} {
		e := <-created
		about := e.InvolvedObject
		got := fmt.Sprintf("%s %s %s %s %s: %s %s %s from %s", e.Namespace, about.APIVersion, about.Kind, about.Name, about.UID, e.Type, e.Reason, e.Message, e.Source.Component)
		if got != want {
			t.Errorf("the event is\n%s, want\n%s", got, want)
		}
	}
}

func TestAPriorityClassThatIsMissingIsTold(t *testing.T) {
	w := job("train", "team")
	w.Template = &workload.Template{PriorityClass: "urgent"}
	const missing = "PriorityClass urgent does not exist, so that the default priority counts: create it on Karmada's API server, or correct the name"
	there := map[string]*schedulingv1.PriorityClass{"urgent": {}}
	for _, c := range []struct {
		needs   string
		classes map[string]*schedulingv1.PriorityClass
		want    string
	}{
		{"", nil, missing}, {"kind Flink is not known", nil, "kind Flink is not known; " + missing}, {"", there, ""}, {"kind Flink is not known", there, "kind Flink is not known"},
	} {
		w.Needs.Notice = c.needs
		if got := noticeOf(w, &framework.Snapshot{PriorityClasses: c.classes}); got != c.want {
			t.Errorf("the notice is %q, want %q", got, c.want)
		}
	}
}
