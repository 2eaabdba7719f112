// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"fmt"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/ledger"
)

type change = func(*workv1alpha2.ResourceBinding)

// bound returns a binding of a Volcano Job in generation 5 from a policy.
func bound(changes ...change) *workv1alpha2.ResourceBinding {
	rb := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w-job", Generation: 5, Labels: map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "id"}},
		Spec: workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}, Suspension: &workv1alpha2.Suspension{},
			Resource: workv1alpha2.ObjectReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"}},
	}
	for _, c := range changes {
		c(rb)
	}
	return rb
}

func ofKind(apiVersion, kind string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Resource.APIVersion, rb.Spec.Resource.Kind = apiVersion, kind
	}
}

func chosen(clusters ...string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		for _, name := range clusters {
			rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		}
	}
}

func leaving(cluster string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: cluster})
	}
}

func requiredOn(cluster string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.RequiredBy = append(rb.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Clusters: []workv1alpha2.TargetCluster{{Name: cluster}}})
	}
}

// reports adds the status of a cluster: the workload's status, or "!" and why it was not applied.
func reports(cluster, status string) change {
	item := workv1alpha2.AggregatedStatusItem{ClusterName: cluster}
	if why, refused := strings.CutPrefix(status, "!"); refused {
		item.AppliedMessage = why
	} else {
		item.Applied = true
		if status != "" {
			item.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
	}
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Status.AggregatedStatus = append(rb.Status.AggregatedStatus, item)
	}
}

func phase(name string) string { return fmt.Sprintf(`{"state":{"phase":%q}}`, name) }

// says adds a condition with its time in seconds.
func says(condition string, status metav1.ConditionStatus, message string, since int) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Status.Conditions = append(rb.Status.Conditions, metav1.Condition{Type: condition, Status: status, Message: message, Reason: "R", LastTransitionTime: at(since)})
	}
}

// scheduled adds a success of the scheduler at a time, for a generation.
func scheduled(since int, generation int64) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		says(workv1alpha2.Scheduled, metav1.ConditionTrue, "", since)(rb)
		last := at(since)
		rb.Status.SchedulerObservedGeneration, rb.Status.LastScheduledTime = generation, &last
	}
}

func held(reason Reason) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		annotated(HoldAnnotation, (&Hold{Reason: reason}).Annotation())(rb)
		scheduling(true)(rb)
	}
}

// granted adds a grant at a time in seconds.
func granted(seconds int) change {
	return annotated(GrantAnnotation, (&Grant{Queue: "q", Time: at(seconds), Amounts: []Amount{{Dimension: resource("cpu"), Amount: ledger.Units(1)}}}).Annotation())
}

func work(cluster string, statuses ...workv1alpha1.ManifestStatus) *workv1alpha1.Work {
	return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster}, Status: workv1alpha1.WorkStatus{ManifestStatuses: statuses}}
}

func TestWhoSuspendsABinding(t *testing.T) {
	keeps := annotated(HoldAnnotation, (&Hold{Reason: Growing, KeepScheduling: true}).Annotation())
	deleting := func(rb *workv1alpha2.ResourceBinding) { now := at(0); rb.DeletionTimestamp = &now }
	for _, c := range []struct {
		name  string
		rb    *workv1alpha2.ResourceBinding
		works []*workv1alpha1.Work
		// want lists what is true: others, mayRun, deleting, noPolicy, hold=reason.
		want string
	}{
		{name: "nobody", rb: bound(), want: "mayRun"},
		{name: "the struct is missing", rb: bound(func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Suspension = nil }), want: "mayRun"},
		{name: "the dispatcher", rb: bound(held(Waiting)), want: "hold=Waiting"},
		{name: "somebody else", rb: bound(scheduling(true)), want: "others"},
		{name: "both", rb: bound(scheduling(true), keeps), want: "hold=Growing others"},
		{name: "a policy suspends dispatching only", rb: bound(dispatching(true)), want: "mayRun"},
		{name: "what is suspended and has clusters may run", rb: bound(held(Growing), chosen("a")), want: "hold=Growing mayRun"},
		{name: "or is being evicted", rb: bound(held(Returning), leaving("a")), want: "hold=Returning mayRun"},
		{name: "or goes where others go", rb: bound(held(Waiting), requiredOn("a")), want: "hold=Waiting mayRun"},
		{name: "or has a Work", rb: bound(held(Returning)), works: []*workv1alpha1.Work{work("a")}, want: "hold=Returning mayRun"},
		{name: "being deleted", rb: bound(held(Waiting), deleting), want: "hold=Waiting deleting"},
		{name: "the policy has been deleted", rb: bound(held(Waiting), func(rb *workv1alpha2.ResourceBinding) { rb.Labels = nil }), want: "hold=Waiting noPolicy"},
		{name: "a ClusterPropagationPolicy", rb: bound(held(Waiting), func(rb *workv1alpha2.ResourceBinding) {
			rb.Labels = map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: "id"}
		}), want: "hold=Waiting"},
		{name: "no placement", rb: bound(held(Waiting), func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement = nil }), want: "hold=Waiting noPolicy"},
		{name: "a hold that cannot be read is not somebody else's", rb: bound(scheduling(true), annotated(HoldAnnotation, "?")),
			want: "annotation volcano.sh/hold of ResourceBinding ns/w-job cannot be read: invalid character '?' looking for beginning of value"},
		{name: "all that cannot be read is reported", rb: bound(scheduling(true), annotated(HoldAnnotation, `{}`), annotated(GrantAnnotation, `{}`), annotated(RequeueAnnotation, `[`)),
			want: `annotation volcano.sh/hold of ResourceBinding ns/w-job cannot be read: reason "" is none of ["Waiting" "Growing" "Returning"]` + "\n" +
				"annotation volcano.sh/granted of ResourceBinding ns/w-job cannot be read: queue is empty\n" +
				"annotation volcano.sh/requeued of ResourceBinding ns/w-job cannot be read: unexpected end of JSON input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Read(c.rb, c.works)
			var words []string
			if s.Hold != nil {
				words = append(words, "hold="+string(s.Hold.Reason))
			}
			for _, w := range []struct {
				is   bool
				word string
			}{{s.SuspendedByOthers, "others"}, {s.MayRun, "mayRun"}, {s.Deleting, "deleting"}, {s.NoPolicy, "noPolicy"}} {
				if w.is {
					words = append(words, w.word)
				}
			}
			if s.Err != nil {
				words = append(words, s.Err.Error())
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAWorkloadIsFinishedWhenAllClustersSaySo(t *testing.T) {
	done, failed, runs := phase("Completed"), phase("Failed"), phase("Running")
	batch := ofKind("batch/v1", "Job")
	for _, c := range []struct {
		name  string
		rb    *workv1alpha2.ResourceBinding
		works []*workv1alpha1.Work
		want  string
	}{
		{name: "no clusters", rb: bound()},
		{name: "no clusters any more", rb: bound(reports("a", done))},
		{name: "the cluster has not reported yet", rb: bound(chosen("a"))},
		{name: "the cluster has reported no status yet", rb: bound(chosen("a"), reports("a", ""))},
		{name: "it runs", rb: bound(chosen("a"), reports("a", runs))},
		{name: "it has completed", rb: bound(chosen("a"), reports("a", done)),
			works: []*workv1alpha1.Work{work("a", workv1alpha1.ManifestStatus{Status: &runtime.RawExtension{Raw: []byte(done)}})}, want: "Completed"},
		{name: "a former one has, which Karmada still shows", rb: bound(chosen("a"), reports("a", done)), works: []*workv1alpha1.Work{work("a")}},
		{name: "in all clusters", rb: bound(chosen("a", "b"), reports("a", done), reports("b", done)), want: "Completed"},
		{name: "in one of two clusters", rb: bound(chosen("a", "b"), reports("a", done), reports("b", runs))},
		{name: "the other has not reported", rb: bound(chosen("a", "b"), reports("a", done))},
		{name: "the other has refused it", rb: bound(chosen("a", "b"), reports("a", done), reports("b", "!exists"))},
		{name: "it has failed in one, and completed in another", rb: bound(chosen("a", "b"), reports("a", done), reports("b", failed)), want: "Completed in cluster a, Failed in cluster b"},
		{name: "it still runs where it is evicted from", rb: bound(chosen("a"), leaving("b"), reports("a", done), reports("b", runs))},
		{name: "it has ended there, too", rb: bound(chosen("a"), leaving("b"), reports("a", done), reports("b", done)), want: "Completed"},
		{name: "it runs where others go", rb: bound(chosen("a"), requiredOn("b"), reports("a", done))},
		{name: "a Work remains in a cluster that it has left", rb: bound(chosen("a"), reports("a", done)), works: []*workv1alpha1.Work{work("a"), work("b")}},
		{name: "a status that cannot be read", rb: bound(chosen("a"), reports("a", `{"state":1}`))},
		{name: "a Job has failed", rb: bound(batch, chosen("a"), reports("a", `{"conditions":[{"type":"Failed","status":"True"}]}`)), want: "Failed"},
		{name: "a Job of another group", rb: bound(ofKind("example.com/v1", "Job"), chosen("a"), reports("a", done))},
		{name: "a Deployment", rb: bound(ofKind("apps/v1", "Deployment"), chosen("a"), reports("a", done))},
		{name: "a broken group", rb: bound(ofKind("a/b/c", "Job"), chosen("a"), reports("a", done))},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s := Read(c.rb, c.works); s.Ended != c.want || s.Finished != (c.want != "") {
				t.Errorf("got %q, finished %t, want %q", s.Ended, s.Finished, c.want)
			}
		})
	}
}

func TestSinceWhenAWorkloadIsNotPlaced(t *testing.T) {
	refused := func(since int) change {
		return says(workv1alpha2.Scheduled, metav1.ConditionFalse, "no enough resource when selecting 1 clusters", since)
	}
	notApplied := func(since int) change {
		return says(workv1alpha2.FullyApplied, metav1.ConditionFalse, "see status.aggregatedStatus", since)
	}
	nothing := annotated(GrantAnnotation, (&Grant{Queue: "q"}).Annotation())
	withoutPolicy := func(rb *workv1alpha2.ResourceBinding) { rb.Labels = nil }
	const untried, silent = "Karmada's scheduler has not tried yet", "no cluster has said yet that it runs the workload"
	for _, c := range []struct {
		name  string
		rb    *workv1alpha2.ResourceBinding
		works []*workv1alpha1.Work
		want  string
		since int
	}{
		{name: "nothing is granted", rb: bound(refused(10))},
		{name: "it waits", rb: bound(granted(5), held(Waiting), refused(10))},
		{name: "it is being taken back", rb: bound(granted(5), held(Returning), refused(10))},
		{name: "somebody else suspends it", rb: bound(granted(5), scheduling(true), refused(10))},
		{name: "the scheduler has not tried", rb: bound(granted(5)), want: untried, since: 5},
		{name: "the scheduler has refused it", rb: bound(granted(5), refused(10)), want: "no enough resource when selecting 1 clusters", since: 10},
		{name: "it had refused it before the grant", rb: bound(granted(15), refused(10)), want: "no enough resource when selecting 1 clusters", since: 15},
		{name: "it has a reason and no message", rb: bound(granted(5), says(workv1alpha2.Scheduled, metav1.ConditionFalse, "", 10)), want: "R", since: 10},
		{name: "success is that of a former grant", rb: bound(granted(15), scheduled(10, 4)), want: untried, since: 15},
		{name: "success has found nothing to run", rb: bound(granted(15), scheduled(20, 5))},
		{name: "the clusters were taken away, and the scheduler has not answered", rb: bound(granted(5), scheduled(10, 4))},
		{name: "the clusters were taken away, and no policy matches", rb: bound(granted(5), scheduled(10, 4), withoutPolicy), want: "no policy matches the workload", since: 5},
		{name: "no policy matches", rb: bound(granted(5), withoutPolicy), want: "no policy matches the workload", since: 5},
		{name: "it has grown, and nothing runs", rb: bound(granted(5), held(Growing), refused(10)), want: "no enough resource when selecting 1 clusters", since: 10},
		{name: "it has grown from nothing", rb: bound(nothing, held(Growing))},
		{name: "a cluster runs it", rb: bound(granted(5), scheduled(10, 5), chosen("a"), reports("a", phase("Running")))},
		{name: "one of two clusters runs it", rb: bound(granted(5), scheduled(10, 5), notApplied(12), chosen("a", "b"), reports("a", ""), reports("b", "!exists"))},
		{name: "the scheduler has refused to add a cluster", rb: bound(granted(5), refused(10), chosen("a"), reports("a", ""))},
		{name: "no cluster has reported", rb: bound(granted(5), scheduled(10, 5), chosen("a")), want: silent, since: 10},
		{name: "a cluster that it has left ran it", rb: bound(granted(5), scheduled(10, 5), chosen("a"), reports("b", phase("Running"))), want: silent, since: 10},
		{name: "a cluster has an object of that name", rb: bound(granted(5), scheduled(10, 5), notApplied(12), chosen("a"), reports("a", "!resource exists")), want: "cluster a: resource exists", since: 12},
		{name: "it had it before the grant", rb: bound(granted(20), scheduled(10, 5), notApplied(12), chosen("a"), reports("a", "!resource exists")), want: "cluster a: resource exists", since: 20},
		{name: "all clusters have one", rb: bound(granted(5), notApplied(12), chosen("a", "b"), reports("a", "!x"), reports("b", "!y")), want: "cluster a: x; cluster b: y", since: 12},
		{name: "an update has failed of what runs", rb: bound(granted(5), scheduled(10, 5), notApplied(12), chosen("a"), reports("a", "!immutable")),
			works: []*workv1alpha1.Work{work("a", workv1alpha1.ManifestStatus{})}},
		{name: "it moves, and Karmada speaks of the cluster before", rb: bound(granted(5), scheduled(10, 5), says(workv1alpha2.FullyApplied, metav1.ConditionTrue, "", 12), chosen("b"), reports("a", phase("Running"))),
			works: []*workv1alpha1.Work{work("b")}},
		{name: "it has moved to a cluster that does not run it", rb: bound(granted(5), scheduled(10, 5), notApplied(3001), chosen("b"), reports("b", "!exists")), want: "cluster b: exists", since: 3001},
		{name: "it has finished", rb: bound(granted(5), scheduled(10, 5), chosen("a"), reports("a", phase("Completed")))},
		{name: "a cluster that cannot be reached has run it", rb: bound(granted(5), scheduled(10, 5), chosen("a"), leaving("a"), reports("a", phase("Running")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Read(c.rb, c.works)
			if s.NotPlaced != (c.want != "") || s.WhyNotPlaced != c.want || s.NotPlaced && !s.PlacedUntil.Equal(at(c.since).Time) {
				t.Errorf("got %t %q since %s, want %q since %s", s.NotPlaced, s.WhyNotPlaced, s.PlacedUntil, c.want, at(c.since))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"reason":"Waiting"}`, `{"queue":"q","amounts":[{"kind":"Resource","name":"cpu","amount":"1"}]}`, `{"attempts":1}`, `{"state":{"phase":"Completed"}}`)
	f.Add(`{"reason":"Growing","dispatching":true}`, `{"queue":"q","amounts":[{"kind":"Card","name":"A","amount":"0"}]}`, `null`, `null`)
	f.Add(`null`, `null`, `{"notBefore":"2027-01-15T08:00:00Z"}`, ``)
	f.Fuzz(func(t *testing.T, hold, grant, requeue, status string) {
		rb := bound(annotated(HoldAnnotation, hold), annotated(GrantAnnotation, grant), annotated(RequeueAnnotation, requeue),
			chosen("a"), reports("a", status))
		s := Read(rb, nil)
		if s.Err != nil != (s.Hold == nil || s.Grant == nil || s.Requeue == nil) {
			t.Errorf("got %+v", s)
		}
		if s.Grant == nil || s.Hold == nil || s.Requeue == nil {
			return
		}
		for _, a := range s.Grant.Amounts {
			if a.Amount.Sign() <= 0 {
				t.Errorf("%s has %s", a.Dimension, a.Amount)
			}
		}
		again := Read(bound(annotated(HoldAnnotation, s.Hold.Annotation()), annotated(GrantAnnotation, s.Grant.Annotation()), annotated(RequeueAnnotation, s.Requeue.Annotation())), nil)
		if again.Err != nil || again.Grant.Annotation() != s.Grant.Annotation() || *again.Hold != *s.Hold || again.Requeue.Attempts != s.Requeue.Attempts {
			t.Errorf("%s is read as %+v", s.Grant.Annotation(), again)
		}
		PatchTakeBack(rb, s.Hold, "q", s.Requeue)
	})
}
