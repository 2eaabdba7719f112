// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	notFound  = failing(apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web"))
	forbidden = failing(apierrors.NewForbidden(schema.GroupResource{Group: "flink.apache.org", Resource: "flinkdeployments"}, "web", nil))
	down      = failing(errors.New("connection refused"))
	flink     = ofKind("flink.apache.org/v1beta1", "FlinkDeployment")
	cronJob   = ofKind("batch/v1", "CronJob")
)

type bindingCase struct {
	name string
	user string
	// old is nil for a creation.
	old, asked *workv1alpha2.ResourceBinding
	webhook    func(*Bindings)
	// want is nil if the request is refused with message.
	want    *workv1alpha2.ResourceBinding
	message string
	// warnings are parts of the warnings.
	warnings []string
}

func (c *bindingCase) run(t *testing.T) {
	b := newWebhook()
	if c.webhook != nil {
		c.webhook(b)
	}
	if c.user == "" {
		c.user = detector
	}
	got, response := ask(t, b, c.user, c.old, c.asked)
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Fatalf("what is stored (-want +got), message %q:\n%s", messageOf(response), diff)
	}
	if c.want == nil {
		if message := messageOf(response); !strings.Contains(message, c.message) {
			t.Errorf("the message is %q, want %q in it", message, c.message)
		}
		return
	}
	if !slices.EqualFunc(response.Warnings, c.warnings, strings.Contains) {
		t.Errorf("the warnings are %q, want these in them: %q", response.Warnings, c.warnings)
	}
	// Another webhook may change the object, which makes the API server call again.
	again, response := ask(t, b, c.user, c.old, got)
	if diff := cmp.Diff(got, again); diff != "" || len(response.Patches) != 0 && c.user != self {
		t.Errorf("the second request changes more (-first +second):\n%s", diff)
	}
}

func TestCreation(t *testing.T) {
	withoutQueue := func(b *Bindings) { b.Template = inQueue("") }
	all := func(b *Bindings) { b.ManageWorkloadsWithoutQueue = true }
	template := func(f func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error)) func(*Bindings) {
		return func(b *Bindings) { b.Template = f }
	}
	for _, c := range []bindingCase{
		{name: "a workload that names a queue waits", asked: newBinding(), want: newBinding(held(waiting))},
		{name: "what waits leaves nothing behind in its clusters", asked: newBinding(preserving), want: newBinding(held(waiting))},
		{name: "a workload without a queue may leave something behind", asked: newBinding(preserving), webhook: withoutQueue, want: newBinding(preserving)},
		{name: "a workload without a queue is left alone", asked: newBinding(), webhook: withoutQueue, want: newBinding()},
		{
			name: "a workload without a queue waits if all are managed", asked: newBinding(),
			webhook: func(b *Bindings) { withoutQueue(b); all(b) }, want: newBinding(held(`{"reason":"Waiting"}`)),
		},
		{
			name: "a workload for Volcano waits without a queue", asked: newBinding(),
			webhook: template(func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
				return &workload.Template{ForVolcano: true}, nil
			}),
			want: newBinding(held(`{"reason":"Waiting"}`)),
		},
		{
			name: "a workload that cannot be counted waits", asked: newBinding(),
			webhook: template(func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
				return &workload.Template{Queue: "research"}, errors.New("spec.replicas is -1")
			}),
			want: newBinding(held(waiting)),
		},
		{name: "what the policy suspends stays", asked: newBinding(dispatching), want: newBinding(dispatching, held(waiting))},
		{name: "somebody else's suspension is not touched", asked: newBinding(scheduling(true)), want: newBinding(scheduling(true))},
		{name: "a dependency of others is left alone", asked: newBinding(dependent), want: newBinding(dependent)},
		{name: "a binding from a backup gets no clusters", asked: newBinding(on("m1", 2)), want: newBinding(held(waiting))},
		{
			name:  "a binding from a backup waits again, whatever it was granted",
			asked: newBinding(held(growing), dispatching, granting, annotated(binding.RequeueAnnotation, "{}")), want: newBinding(held(waiting)),
			warnings: []string{"volcano.sh/hold", "volcano.sh/granted", "volcano.sh/requeued", "finalizer volcano.sh/charged"},
		},
		{name: "a Deployment that does not exist waits", asked: newBinding(), webhook: template(notFound), want: newBinding(held(`{"reason":"Waiting"}`))},
		{name: "an object of another kind that does not exist is left alone", asked: newBinding(flink), webhook: template(notFound), want: newBinding(flink)},
		{name: "an object of a kind that does not exist is left alone", asked: newBinding(flink), want: newBinding(flink),
			webhook: template(failing(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "flink.apache.org", Kind: "FlinkDeployment"}}))},
		{name: "what is no workload is left alone", asked: newBinding(flink), webhook: template(failing(nil)), want: newBinding(flink)},
		{name: "an object that cannot be read is refused", asked: newBinding(), webhook: template(down),
			message: "ResourceBinding team/web-deployment: cannot read Deployment team/web, so the dispatcher does not know its queue and its needs: connection refused"},
		{name: "a Deployment that may not be read is refused", asked: newBinding(), webhook: template(forbidden), message: "forbidden"},
		{name: "an object of another kind that may not be read is left alone", asked: newBinding(flink), webhook: template(forbidden), want: newBinding(flink),
			warnings: []string{"let ClusterRole vc-dispatcher-workloads get objects of this kind"}},
		{name: "an object of another kind that may not be read is granted nothing by its user", asked: newBinding(flink, granting), webhook: template(forbidden), want: newBinding(flink),
			warnings: []string{"volcano.sh/granted", "finalizer volcano.sh/charged", "let ClusterRole vc-dispatcher-workloads get objects of this kind"}},
		{
			name: "an object of another kind that may not be read waits if all are managed", asked: newBinding(flink),
			webhook: func(b *Bindings) { template(forbidden)(b); all(b) }, want: newBinding(flink, held(`{"reason":"Waiting"}`)),
		},
		{name: "the dispatcher creates no bindings, so that what others create in its name waits", user: self, asked: newBinding(), want: newBinding(held(waiting))},
		{name: "a CronJob whose queue is not known waits", asked: newBinding(cronJob), webhook: template(notFound), want: newBinding(cronJob, held(`{"reason":"Waiting"}`))},
	} {
		t.Run(c.name, c.run)
	}
}

func TestNobodyElseChangesWhatTheDispatcherWrites(t *testing.T) {
	for _, c := range []bindingCase{
		{name: "a hold is put back", old: newBinding(held(waiting)), asked: newBinding(), want: newBinding(held(waiting)), warnings: []string{"annotation volcano.sh/hold", "spec.suspension.scheduling"}},
		{name: "a hold is not changed", old: newBinding(held(waiting)), asked: newBinding(held(growing)), want: newBinding(held(waiting)), warnings: []string{"annotation volcano.sh/hold"}},
		{name: "a hold that cannot be read still holds", old: newBinding(held("{")), asked: newBinding(annotated(binding.HoldAnnotation, "{"), scheduling(false)),
			want: newBinding(held("{")), warnings: []string{"spec.suspension.scheduling"}},
		{name: "a hold is not forged", old: newBinding(on("m1", 2)), asked: newBinding(on("m1", 2), held(waiting)), want: newBinding(on("m1", 2)), warnings: []string{"volcano.sh/hold"}},
		{name: "a suspension is put back", old: newBinding(held(waiting)), asked: newBinding(annotated(binding.HoldAnnotation, waiting)),
			want: newBinding(held(waiting)), warnings: []string{"spec.suspension.scheduling"}},
		{name: "a grant is put back", old: newBinding(granting), asked: newBinding(granting, without(binding.GrantAnnotation)), want: newBinding(granting), warnings: []string{"volcano.sh/granted"}},
		{name: "a grant is not raised", old: newBinding(granting), asked: newBinding(granting, annotated(binding.GrantAnnotation, `{"amounts":{"cpu":"100"}}`)),
			want: newBinding(granting), warnings: []string{"volcano.sh/granted"}},
		{name: "a grant is not forged", old: newBinding(held(waiting)), asked: newBinding(held(waiting), annotated(binding.GrantAnnotation, granted)),
			want: newBinding(held(waiting)), warnings: []string{"volcano.sh/granted"}},
		{name: "the back-off is not shortened", old: newBinding(held(waiting), annotated(binding.RequeueAnnotation, "{}")), asked: newBinding(held(waiting)),
			want: newBinding(held(waiting), annotated(binding.RequeueAnnotation, "{}")), warnings: []string{"volcano.sh/requeued"}},
		{name: "the finalizer is put back where it was", old: newBinding(finalizers("a", binding.Finalizer, "b")), asked: newBinding(finalizers("a", "b")),
			want: newBinding(finalizers("a", binding.Finalizer, "b")), warnings: []string{"finalizer volcano.sh/charged"}},
		{name: "the finalizer is not forged", old: newBinding(), asked: newBinding(finalizers("karmada.io/binding-controller", binding.Finalizer)),
			want: newBinding(), warnings: []string{"finalizer volcano.sh/charged"}},
		{name: "the label that the Works are found by stays", old: newBinding(granting),
			asked: newBinding(granting, func(rb *workv1alpha2.ResourceBinding) { rb.Labels = nil }), want: newBinding(granting)},
		{name: "other annotations and finalizers are free", old: newBinding(granting), asked: newBinding(granting, annotated("a", "b"), finalizers(binding.Finalizer)),
			want: newBinding(granting, annotated("a", "b"), finalizers(binding.Finalizer))},
		{name: "a workload that was granted room can be suspended by others", old: newBinding(granting), asked: newBinding(granting, scheduling(true)),
			want: newBinding(granting, scheduling(true))},
		{name: "and resumed", old: newBinding(granting, scheduling(true)), asked: newBinding(granting, scheduling(false)), want: newBinding(granting, scheduling(false))},
		{name: "the dispatcher changes everything", user: self, old: newBinding(held(growing), dispatching, granting), asked: newBinding(finalizers()), want: newBinding(finalizers())},
	} {
		t.Run(c.name, c.run)
	}
}

func TestDeletion(t *testing.T) {
	old := newBinding(granting, on("m1", 2), deleting)
	for _, c := range []bindingCase{
		{name: "Karmada removes its own finalizer", old: old, asked: newBinding(granting, on("m1", 2), deleting, finalizers(binding.Finalizer)),
			want: newBinding(granting, on("m1", 2), deleting, finalizers(binding.Finalizer))},
		{name: "the dispatcher's finalizer stays until its Works are gone", old: old, asked: newBinding(granting, on("m1", 2), deleting, func(rb *workv1alpha2.ResourceBinding) { rb.Finalizers = nil }),
			want: newBinding(granting, on("m1", 2), deleting, finalizers(binding.Finalizer)), warnings: []string{"finalizer"}},
		{name: "the dispatcher removes its finalizer", user: self, old: old, asked: newBinding(granting, deleting, finalizers()), want: newBinding(granting, deleting, finalizers())},
		{name: "a binding without a grant is not held any more", old: newBinding(deleting), asked: newBinding(deleting, objectAt("2", 9)), want: newBinding(deleting, objectAt("2", 9))},
		{name: "growth does not matter any more", old: old, asked: newBinding(granting, on("m1", 2), deleting, objectAt("2", 9)),
			want: newBinding(granting, on("m1", 2), deleting, objectAt("2", 9))},
	} {
		t.Run(c.name, c.run)
	}
}

func TestClustersOfAHeldBinding(t *testing.T) {
	for _, c := range []bindingCase{
		{name: "the scheduler's late answer is refused while it waits", old: newBinding(held(waiting)), asked: newBinding(held(waiting), on("m1", 2)),
			message: `ResourceBinding team/web-deployment: spec.clusters cannot get m1 (2 replicas) now, because vc-dispatcher holds Deployment team/web until its queue has room`},
		{name: "and while the grant is being taken back", old: newBinding(held(returning), granting), asked: newBinding(held(returning), granting, on("m1", 2)),
			message: "spec.clusters cannot get m1 (2 replicas)"},
		{name: "and while it grows", old: newBinding(held(growing), dispatching, granting, on("m1", 2)), asked: newBinding(held(growing), dispatching, granting, on("m1", 4)),
			message: "spec.clusters cannot get m1 (4 replicas)"},
		{name: "even if the hold is removed by the way", old: newBinding(held(waiting)), asked: newBinding(on("m1", 2)), message: "spec.clusters cannot get m1"},
		{name: "nor does it go where something else requires it", old: newBinding(held(waiting)), asked: newBinding(held(waiting), followingTo("m1", 2)),
			message: "ResourceBinding team/web-deployment: spec.requiredBy cannot get m1 (2 replicas) now"},
		{name: "and what is required there does not grow", old: newBinding(held(growing), dispatching, granting, followingTo("m1", 2)),
			asked: newBinding(held(growing), dispatching, granting, followingTo("m1", 4)), message: "spec.requiredBy cannot get m1 (4 replicas)"},
		{name: "what requires it may go where it runs", old: newBinding(held(growing), dispatching, granting, on("m1", 2)),
			asked: newBinding(held(growing), dispatching, granting, on("m1", 2), followingTo("m1", 2)), want: newBinding(held(growing), dispatching, granting, on("m1", 2), followingTo("m1", 2))},
		{name: "clusters may go", old: newBinding(held(growing), dispatching, granting, on("m1", 2), on("m2", 1)), asked: newBinding(held(growing), dispatching, granting, on("m1", 1)),
			want: newBinding(held(growing), dispatching, granting, on("m1", 1))},
		{name: "a granted workload gets clusters", old: newBinding(granting), asked: newBinding(granting, on("m1", 2)), want: newBinding(granting, on("m1", 2))},
		{name: "somebody else's suspension does not keep clusters away", old: newBinding(scheduling(true)), asked: newBinding(scheduling(true), on("m1", 2)),
			want: newBinding(scheduling(true), on("m1", 2))},
	} {
		t.Run(c.name, c.run)
	}
}

func TestABindingThatDoesNotRunAndWasNotGrantedAnythingWaits(t *testing.T) {
	for _, c := range []bindingCase{
		{name: "when somebody else lifts a suspension", old: newBinding(scheduling(true)), asked: newBinding(), want: newBinding(held(waiting))},
		{name: "when it is scheduled", old: newBinding(), asked: newBinding(on("m1", 2)), want: newBinding(held(waiting))},
		{name: "when its object gets a queue", old: newBinding(), asked: newBinding(objectAt("2", 2)), want: newBinding(objectAt("2", 2), held(waiting))},
		{name: "when a dependency gets a policy of its own", old: newBinding(dependent),
			asked: newBinding(dependent, func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement = newBinding().Spec.Placement }),
			want:  newBinding(dependent, held(waiting), func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement = newBinding().Spec.Placement })},
		{name: "but not if it runs: it is adopted", old: newBinding(on("m1", 2)), asked: newBinding(on("m1", 2), objectAt("2", 9)), want: newBinding(on("m1", 2), objectAt("2", 9))},
		{name: "nor if it runs where it is evicted", old: newBinding(evicting), asked: newBinding(evicting, on("m1", 2)), want: newBinding(evicting, on("m1", 2))},
		{name: "nor when only its metadata changes, which costs no request", old: newBinding(), asked: newBinding(annotated("a", "b")), want: newBinding(annotated("a", "b")),
			webhook: func(b *Bindings) { b.Template = down }},
	} {
		t.Run(c.name, c.run)
	}
}

func preserving(rb *workv1alpha2.ResourceBinding) { rb.Spec.PreserveResourcesOnDeletion = ptr.To(true) }

func evicting(rb *workv1alpha2.ResourceBinding) {
	rb.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m2", Reason: "Down", Producer: "taint-manager"}}
}

// leftM0 adds a grant to a workload that has left a cluster.
func leftM0(rb *workv1alpha2.ResourceBinding) {
	granting(rb)
	rb.Annotations[binding.GrantAnnotation] = strings.Replace(granted, `"grace"`, `"clusters":["m0","m1"],"grace"`, 1)
}

func toZone2(rb *workv1alpha2.ResourceBinding) {
	rb.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}}
}

func TestGrowthSeenAtTheBinding(t *testing.T) {
	runs := newBinding(granting, on("m1", 2))
	grown := []option{granting, on("m1", 2), objectAt("2", 4)}
	for _, c := range []bindingCase{
		{name: "and what runs leaves nothing behind when its policy changes", old: runs, asked: newBinding(granting, on("m1", 2), preserving), want: runs},
		{name: "is held", old: runs, asked: newBinding(grown...), want: newBinding(append(grown, held(growing), dispatching)...)},
		{name: "is held if something else requires it where it does not run", old: runs, asked: newBinding(granting, on("m1", 2), followingTo("m2", 2)), webhook: func(b *Bindings) {
			b.Exceeds = func(*workload.Template, *workv1alpha2.ResourceBinding) ([]binding.Amount, error) {
				return []binding.Amount{{Dimension: ledger.Dimension{Name: "cpu"}, Amount: ledger.Units(2)}}, nil
			}
		}, want: newBinding(granting, on("m1", 2), followingTo("m2", 2), held(growing), dispatching)},
		{name: "is held although dispatching is suspended by a policy", old: runs, asked: newBinding(append(grown, dispatching)...),
			want: newBinding(append(grown, dispatching, held(`{"reason":"Growing","queue":"research"}`))...)},
		{name: "is no growth if it fits the grant", old: runs, asked: newBinding(granting, on("m1", 2), objectAt("2", 1)), want: newBinding(granting, on("m1", 2), objectAt("2", 1))},
		{name: "is held if the object cannot be counted any more", old: runs, asked: newBinding(granting, on("m1", 2), objectAt("2", 2)),
			webhook: func(b *Bindings) {
				b.Template = func(context.Context, *workv1alpha2.ResourceBinding) (*workload.Template, error) {
					return &workload.Template{Queue: "research"}, errors.New("malformed")
				}
			}, want: newBinding(granting, on("m1", 2), objectAt("2", 2), held(growing), dispatching)},
		{name: "does not matter if the object is gone", old: runs, asked: newBinding(grown...), webhook: func(b *Bindings) { b.Template = notFound }, want: newBinding(grown...)},
		{name: "does not matter if it is no workload any more", old: runs, asked: newBinding(grown...), webhook: func(b *Bindings) { b.Template = failing(nil) }, want: newBinding(grown...)},
		{name: "is refused if the object cannot be read", old: runs, asked: newBinding(grown...), webhook: func(b *Bindings) { b.Template = down }, message: "connection refused"},
		{name: "is a move on that waits for what is left of the last one", old: newBinding(leftM0, on("m1", 2)), asked: newBinding(leftM0, on("m1", 2), toZone2),
			want: newBinding(leftM0, on("m1", 2), toZone2, changing, held(`{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`), dispatching)},
		{name: "is no first move", old: runs, asked: newBinding(granting, on("m1", 2), toZone2), want: newBinding(granting, on("m1", 2), toZone2, changing)},
		{name: "is a second move that waits", old: newBinding(granting, on("m1", 2), changing), asked: newBinding(granting, on("m1", 2), changing, toZone2),
			want: newBinding(granting, on("m1", 2), changing, toZone2, held(`{"reason":"Growing","queue":"research","dispatching":true,"ends":true}`), dispatching)},
		{name: "is not looked for when clusters are chosen", old: newBinding(granting), asked: runs, webhook: func(b *Bindings) { b.Template = down }, want: runs},
		{name: "is held on top of somebody else's suspension", old: newBinding(granting, scheduling(true)), asked: newBinding(granting, scheduling(true), objectAt("2", 4)),
			want: newBinding(granting, held(growingKept), dispatching, objectAt("2", 4))},
		{name: "stays held when somebody else resumes it", old: newBinding(granting, held(growingKept), dispatching),
			asked: newBinding(granting, annotated(binding.HoldAnnotation, growingKept), dispatching), want: newBinding(granting, held(growing), dispatching)},
	} {
		t.Run(c.name, c.run)
	}
}

// TestTheDetectorDoesNotLoop sends the writes that Karmada's detector repeats whenever it sees the object.
func TestTheDetectorDoesNotLoop(t *testing.T) {
	stored := newBinding(held(growing), dispatching, granting, on("m1", 2))
	asked := newBinding(held(growing), granting, on("m1", 2)) // util.MergePolicySuspension
	got, response := ask(t, newWebhook(), detector, stored, asked)
	if !equality.Semantic.DeepEqual(stored, got) {
		t.Errorf("the update changes something:\n%s", cmp.Diff(stored, got))
	}
	if len(response.Warnings) != 0 {
		t.Errorf("the detector is warned: %q", response.Warnings)
	}
	t.Run("and dispatching stays suspended when a policy resumes it", (&bindingCase{
		old:   newBinding(held(`{"reason":"Growing","queue":"research"}`), dispatching, granting),
		asked: newBinding(held(`{"reason":"Growing","queue":"research"}`), granting),
		want:  newBinding(held(growing), dispatching, granting),
	}).run)
}
