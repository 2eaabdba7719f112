// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"slices"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// shrunk makes a workload a Deployment that was granted four cores and now needs one.
func shrunk(status string) func(*framework.Workload) {
	return func(w *framework.Workload) {
		w.State.Grant.Amounts[0].Amount = ledger.Units(4)
		w.State.Grant.Grace = 30
		w.Binding.Spec.Resource.APIVersion, w.Binding.Spec.Resource.Kind = "apps/v1", "Deployment"
		w.Template.Kind = "Deployment"
		w.Works = []*workv1alpha1.Work{workIn("member1", "2", status)}
	}
}

// gone makes a workload deleted, without Works.
func gone(w *framework.Workload) {
	w.State.Deleting, w.Works, w.Binding.Finalizers = true, nil, []string{binding.Finalizer}
	w.State.Grant.Grace = 30
}

// cronShrunk makes a workload a CronJob between two of its Jobs that was granted four cores and now needs one.
func cronShrunk(w *framework.Workload) {
	shrunk(`{}`)(w)
	w.Binding.Spec.Resource.APIVersion, w.Binding.Spec.Resource.Kind, w.Template.Kind = "batch/v1", "CronJob", "CronJob"
}

const done = `{"resourceTemplateGeneration":2,"generation":2,"observedGeneration":2}`

// TestAGrantEndsOrShrinksWhenMembersHaveDoneIt checks the decisions a number of seconds after the clusters got their instructions.
func TestAGrantEndsOrShrinksWhenMembersHaveDoneIt(t *testing.T) {
	blind := framework.Left{Err: errors.New("forbidden")}
	for _, tc := range []struct {
		name   string
		change func(*framework.Workload)
		left   framework.Left
		// after has the decisions by seconds, without the workload that waits for the room.
		after map[int]string
	}{
		{"it shrinks, and nobody may look", shrunk(done), blind, map[int]string{2: "", 4: "", 10: "runs StillCharged", 44: "runs StillCharged", 45: "runs Shrunk *"}},
		{"it shrinks, and pods of it are left", shrunk(done), framework.Left{Generation: "2", Pods: 1}, map[int]string{4: "", 10: "runs StillCharged", 46: "runs StillRuns"}},
		{"its status does not say what it was made from, and nobody may look", cronShrunk, blind, map[int]string{4: "", 10: "runs StillCharged", 45: "runs StillCharged", 3600: "runs StillCharged"}},
		{"its status does not say what it was made from", cronShrunk, framework.Left{Generation: "2"}, map[int]string{2: "", 3: "runs Shrunk *"}},
		{"it goes to fewer clusters than were granted, and nobody may look", func(w *framework.Workload) {
			cronShrunk(w)
			w.State.Grant.Copies, w.State.Grant.Copy = 4, []binding.Amount{{Dimension: cpu, Amount: ledger.Units(1)}}
		}, blind, map[int]string{44: "runs StillCharged", 45: "runs Shrunk *"}},
		{"it has shrunk", shrunk(done), framework.Left{Generation: "2"}, map[int]string{2: "", 3: "runs Shrunk *"}},
		{"as few pods as it is to have are left, and are those that it had before", func(w *framework.Workload) {
			shrunk(done)(w)
			w.Template.Pods = []workload.PodSet{{Count: 4}}
		}, framework.Left{Generation: "2", Pods: 4, Ending: 4}, map[int]string{4: "", 10: "runs StillCharged", 46: "runs StillRuns"}},
		{"the member has the object as it was", shrunk(done), framework.Left{Generation: "1"}, map[int]string{10: "runs StillCharged"}},
		{"a rollout is paused", shrunk(`{"resourceTemplateGeneration":2,"generation":2,"observedGeneration":2,"replicas":1}`), framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"the member has not reported", shrunk(`{"resourceTemplateGeneration":1,"generation":1,"observedGeneration":1}`), framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"its pods keep their template", func(w *framework.Workload) { shrunk(done)(w); w.State.Grant.Shape = severalShapes }, framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"its pods keep their claims", func(w *framework.Workload) { shrunk(done)(w); w.State.Grant.Claims = "others" }, framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"the member was told of another object", func(w *framework.Workload) {
			shrunk(done)(w)
			w.Template.UID, w.Works[0].Annotations[workv1alpha2.ResourceTemplateUIDAnnotation] = "new", "old"
		}, framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"the member has not applied it", func(w *framework.Workload) {
			shrunk(done)(w)
			w.Works[0].Status.Conditions[0].Status = metav1.ConditionFalse
		}, framework.Left{Generation: "2"}, map[int]string{4: "", 100: "runs StillCharged"}},
		{"its Work is not shown yet, and nobody may look", func(w *framework.Workload) { shrunk(done)(w); w.Works = nil }, blind, map[int]string{4: "", 45: "runs StillCharged"}},
		{"it was scaled to nothing, and has left its cluster", func(w *framework.Workload) {
			shrunk(done)(w)
			w.Works, w.Binding.Spec.Clusters = nil, nil
		}, framework.Left{}, map[int]string{2: "", 3: "runs Shrunk *"}},
		{"it is gone, and nobody may look", gone, blind, map[int]string{10: "runs StillCharged", 44: "runs StillCharged", 45: "runs  *"}},
		{"it is gone, and its pods end", gone, framework.Left{Pods: 2}, map[int]string{10: "runs StillCharged", 46: "runs StillRuns"}},
		{"Karmada has lost it, and it has no pods yet", gone, framework.Left{Generation: "2"}, map[int]string{46: "runs StillRuns"}},
		{"it is gone", gone, framework.Left{}, map[int]string{2: "", 3: "runs  *"}},
		{"it had ended", func(w *framework.Workload) { gone(w); w.State.Finished = true }, blind, map[int]string{0: "runs  *"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for after, want := range tc.after {
				f := newFixture(t, "")
				f.queue("team", "root", 4)
				f.running("runs", "team", 1, tc.change)
				f.left["runs in member1"] = tc.left
				f.decide()
				f.snapshot.Now = noon.Add(time.Duration(after) * time.Second)
				if got, _ := f.decide(); got != want {
					t.Errorf("%d seconds later, decided %q, want %q", after, got, want)
				}
			}
		})
	}
}

// TestAGrantThatIsTakenBackAgainSettlesAgain: its Works may be gone before the first cycle after each time.
func TestAGrantThatIsTakenBackAgainSettlesAgain(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	w := f.running("again", "team", 4)
	f.left["again in member1"] = framework.Left{Err: errors.New("forbidden")}
	grant, works, clusters := w.State.Grant, w.Works, w.Binding.Spec.Clusters
	for hour := range 3 {
		at := func(seconds int, hold *binding.Hold, want string) {
			t.Helper()
			f.snapshot.Now = noon.Add(time.Duration(hour)*time.Hour + time.Duration(seconds)*time.Second)
			w.State.Grant, w.State.Hold, w.Works, w.Binding.Spec.Clusters = grant, hold, nil, nil
			if hold == nil {
				w.Works, w.Binding.Spec.Clusters = works, clusters
			}
			f.expect(want)
		}
		at(0, nil, "")
		at(1, &binding.Hold{Reason: binding.Returning}, "")
		at(10, &binding.Hold{Reason: binding.Returning}, "again StillCharged")
		at(16, &binding.Hold{Reason: binding.Returning}, "again Returned *")
	}
}

// TestNothingEndsInAClusterThatCannotBeReached: after it is back, its pods need time to end.
func TestNothingEndsInAClusterThatCannotBeReached(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.running("gone", "team", 4, gone)
	f.left["gone in member1"] = framework.Left{Err: errors.New("no answer")}
	at := func(seconds int, ready bool, want string) {
		t.Helper()
		f.snapshot.Now, f.snapshot.NotReady["member1"] = noon.Add(time.Duration(seconds)*time.Second), !ready
		f.expect(want)
	}
	at(0, true, "")
	at(40, false, "gone StillCharged")
	at(10_000, false, "gone StillCharged")
	at(10_001, true, "")
	at(10_045, true, "gone StillCharged")
	at(10_046, true, "gone  *")
}

// TestClustersAndGracePeriodsAreNotedBeforeAGrantEnds: a new leader has no other record of clusters that were left.
func TestClustersAndGracePeriodsAreNotedBeforeAGrantEnds(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	w := f.running("moves", "team", 4)
	w.Places, w.Template.Grace = []string{"member1", "member2"}, 60
	c := f.expect("moves GrantExceeded *")
	grant := grantIn(t, c.ends[0].patch)
	if len(grant.Clusters) != 2 || grant.Grace != 60 || grant.Amounts[0].Amount != ledger.Units(4) {
		t.Errorf("noted %+v", grant)
	}
}

func TestAClusterThatWasLeftIsForgottenWhenNothingIsLeftThere(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	w := f.running("moves", "team", 4)
	w.Places, w.State.Grant.Clusters, w.State.Grant.Moves = []string{"member0", "member1"}, []string{"member0", "member1"}, true
	f.left["moves in member0"] = framework.Left{Pods: 1, Again: noon.Add(12 * time.Second)}
	f.left["moves in member1"] = framework.Left{Generation: "2", Pods: 4}
	f.expect("")
	f.snapshot.Now = noon.Add(10 * time.Second)
	if c := f.expect("moves StillCharged"); !c.next.Equal(noon.Add(12 * time.Second)) {
		t.Errorf("the next cycle is due at %s, want when the member may be asked again", c.next)
	}
	f.left["moves in member0"] = framework.Left{}
	c := f.expect("moves  *")
	if grant := grantIn(t, c.ends[0].patch); len(grant.Clusters) != 1 || grant.Clusters[0] != "member1" {
		t.Errorf("the grant has the clusters %v", grant.Clusters)
	}
}

// TestAClusterThatWasLeftIsForgottenEvenIfTheGrantIsNeverLowered: otherwise a workload has not ended when it has ended where it is now.
func TestAClusterThatWasLeftIsForgottenEvenIfTheGrantIsNeverLowered(t *testing.T) {
	for name, never := range map[string]func(*fixture, *framework.Workload){
		"a paused Deployment with former pods": func(f *fixture, w *framework.Workload) {
			shrunk(done)(w)
			w.Template.Replaces, w.Template.Halts = true, true
			w.Needs.Pod, w.State.Grant.Pod = f.cores(1), []binding.Amount{{Dimension: cpu, Amount: ledger.Units(2)}}
		},
		"a Volcano Job with another template": func(f *fixture, w *framework.Workload) {
			w.State.Grant.Shape, w.Needs = severalShapes, needing(f.cores(3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			w := f.running("moves", "team", 4)
			w.Places, w.State.Grant.Clusters, w.State.Grant.Moves = []string{"member0", "member1"}, []string{"member0", "member1"}, true
			never(f, w)
			f.decide()
			f.snapshot.Now = noon.Add(10 * time.Second)
			_, c := f.decide()
			if len(c.ends) != 1 {
				t.Fatal("the cluster is not forgotten")
			}
			if grant := grantIn(t, c.ends[0].patch); !slices.Equal(grant.Clusters, []string{"member1"}) || len(grant.Pod) != len(w.State.Grant.Pod) || grant.Amounts[0].Amount != ledger.Units(4) {
				t.Errorf("noted %+v", grant)
			}
		})
	}
}

// TestWhatKarmadaHasLostIsCharged: it is reported after the time that its pods may take to end.
func TestWhatKarmadaHasLostIsCharged(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("lost", "team", 3, func(w *framework.Workload) {
		w.Lost, w.State, w.Template.Grace = "member1", binding.State{Deleting: true, MayRun: true}, 30
	})
	f.held("next", "team", 2)
	if c := f.expect("next InsufficientCPUQuota"); !c.next.Equal(noon.Add(45 * time.Second)) {
		t.Errorf("the next cycle is due at %s, want when the pods have had their time", c.next)
	}
	f.snapshot.Now = noon.Add(45 * time.Second)
	f.expect("lost StillRuns, next InsufficientCPUQuota")
	f.snapshot.Workloads = f.snapshot.Workloads[1:]
	f.expect("next Granted *")
}

// TestPodsOfATemplateThatIsGoneAreCharged: a Volcano Job returns to the template of its grant, but pods of another template stay.
func TestPodsOfATemplateThatIsGoneAreCharged(t *testing.T) {
	read := func(replicas int32, image string) *workload.Template {
		o := &batchv1alpha1.Job{Spec: batchv1alpha1.JobSpec{Tasks: []batchv1alpha1.TaskSpec{{Name: "t", Replicas: replicas}}}}
		o.Generation, o.ResourceVersion = 2, "7"
		o.Spec.Tasks[0].Template.Spec.Containers = []corev1.Container{{Image: image}}
		template, err := workload.Of(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return template
	}
	for name, other := range map[string]func(*fixture, *framework.Workload){
		"it needs no more": func(*fixture, *framework.Workload) {},
		"it needs more":    func(f *fixture, w *framework.Workload) { w.Needs = needing(f.cores(3)) },
		"it grows":         func(_ *fixture, w *framework.Workload) { w.State.Hold = &binding.Hold{Reason: binding.Growing} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			w := f.running("runs", "team", 2)
			w.State.Grant.Shape, w.State.Grant.Grace = read(1, "small").Shape(), 30
			w.Template = read(1, "large")
			other(f, w)
			for range 2 { // first the record, then the grant
				if _, c := f.decide(); len(c.ends)+len(c.grants) > 0 {
					w.State.Grant, w.State.Hold = grantIn(t, slices.Concat(c.ends, c.grants)[0].patch), nil
				}
			}
			w.Template, w.Needs = read(1, "small"), needing(f.cores(1))
			f.left["runs in member1"] = framework.Left{Generation: "2", Pods: 1}
			f.decide()
			f.snapshot.Now = noon.Add(10 * time.Second)
			f.expect("runs StillCharged")
		})
	}
}
