// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// newFake returns a cache of objects that tests put into its stores.
func newFake(t *testing.T) *Cache {
	t.Helper()
	c, err := New(&Clients{
		Kubernetes: kubefake.NewSimpleClientset(), Karmada: karmadafake.NewSimpleClientset(), Volcano: volcanofake.NewSimpleClientset(),
		Queues: queuefake.NewSimpleClientset(), Metadata: metadatafake.NewSimpleMetadataClient(runtime.NewScheme()),
	}, &framework.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnObjectOfAnotherKindThatWasScaledToZeroNeedsNothing(t *testing.T) {
	c := newFake(t)
	// Karmada's interpreter does not report pods without requests.
	for name, annotation := range map[string]string{
		"waits": binding.HoldAnnotation, "runs": binding.GrantAnnotation,
	} {
		rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "1", ResourceVersion: "5"}}
		rb.Annotations = map[string]string{annotation: map[string]string{
			binding.HoldAnnotation:  `{"reason":"Waiting","queue":"team"}`,
			binding.GrantAnnotation: `{"queue":"team","time":"2026-05-01T12:00:00Z","amounts":[{"kind":"Resource","name":"cpu","amount":"2"}]}`,
		}[annotation]}
		rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "ns", Name: name, ResourceVersion: "4"}
		if err := c.bindingInformer.GetStore().Replace([]any{rb}, ""); err != nil {
			t.Fatal(err)
		}
		snapshot, err := c.Snapshot(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(snapshot.Workloads) != 1 {
			t.Fatalf("%s: there are %d workloads, want 1", name, len(snapshot.Workloads))
		}
		w := snapshot.Workloads[0]
		if w.Template == nil || w.Err != nil || w.Queue != "team" || len(w.Needs.Settled) != 0 {
			t.Errorf("%s: template %v, error %v, queue %q, and needs %v, want a template without pods in queue team", name, w.Template, w.Err, w.Queue, w.Needs.Settled)
		}
	}
}

// TestAWorkloadHasNotEndedWhileItsPodsMayRun in a cluster that it has left, because it may move to a cluster in which it ends at once. Where it ended before,
// it may run again before Karmada has removed that from the status of its binding.
func TestAWorkloadHasNotEndedWhileItsPodsMayRun(t *testing.T) {
	const status = `{"conditions":[{"type":"Complete","status":"True"}]}`
	for name, tc := range map[string]struct {
		noted, seen string
		works       []string
		deleted     *metav1.Time
		finished    bool
	}{
		"it was nowhere else":               {noted: `"new"`, works: []string{status}, finished: true},
		"the grant notes where else it was": {noted: `"new","old"`, works: []string{status}},
		"a version of the binding did":      {noted: `"new"`, seen: "old", works: []string{status}},
		"it has no Work again yet":          {noted: `"new"`},
		"it has no Work any more":           {noted: `"new"`, deleted: &metav1.Time{}, finished: true},
		"its new Work has no status yet":    {noted: `"new"`, works: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFake(t)
			rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train-job", UID: "1", ResourceVersion: "5"}}
			rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","time":"2026-05-01T12:00:00Z","clusters":[` + tc.noted + `],"amounts":[]}`}
			rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "train"}
			rb.DeletionTimestamp = tc.deleted
			rb.Labels = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}
			for _, text := range tc.works {
				work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-new", Name: "train", Labels: rb.Labels}}
				if text != "" {
					work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(text)}}}
				}
				if err := c.workInformer.GetIndexer().Add(work); err != nil {
					t.Fatal(err)
				}
			}
			if tc.seen != "" {
				before := rb.DeepCopy()
				before.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: tc.seen}}
				c.places.see(before)
			}
			rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "new"}}
			rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{
				ClusterName: "new", Applied: true, Status: &runtime.RawExtension{Raw: []byte(status)},
			}}
			if err := c.bindingInformer.GetStore().Add(rb); err != nil {
				t.Fatal(err)
			}
			snapshot, err := c.Snapshot(time.Now())
			if err != nil || len(snapshot.Workloads) != 1 {
				t.Fatalf("%d workloads, %v", len(snapshot.Workloads), err)
			}
			if got := snapshot.Workloads[0].State.Finished; got != tc.finished {
				t.Errorf("ended: %t, want %t", got, tc.finished)
			}
		})
	}
}

// TestAWorkloadThatNamesNoQueueAnyMoreStaysInItsOwn: its user may not have access to the default queue.
func TestAWorkloadThatNamesNoQueueAnyMoreStaysInItsOwn(t *testing.T) {
	const waiting = `{"reason":"Waiting","queue":"team"}`
	for name, tc := range map[string]struct {
		hold, named, scheduler string
		all                    bool
		want                   string
	}{
		"it names its queue":                          {hold: waiting, named: "team", want: "team"},
		"it names another queue":                      {hold: waiting, named: "other", want: "other"},
		"it names none":                               {hold: waiting, want: "team"},
		"it names none and is for Volcano":            {hold: waiting, scheduler: "volcano", want: "default"},
		"it names none and all workloads are managed": {hold: waiting, all: true, want: "default"},
		"it was held without a name":                  {hold: `{"reason":"Waiting"}`, want: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFake(t)
			c.config = &framework.Config{DefaultQueue: "default", SchedulerNames: []string{"volcano"}, ManageWorkloadsWithoutQueue: tc.all}
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "2"}}
			d.Spec.Template.Spec.SchedulerName = tc.scheduler
			if tc.named != "" {
				d.Labels = map[string]string{"scheduling.volcano.sh/queue-name": tc.named}
			}
			template, err := workload.Of(d, c.config.SchedulerNames)
			if err != nil {
				t.Fatal(err)
			}
			rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-deployment", UID: "1"}}
			rb.Annotations = map[string]string{binding.HoldAnnotation: tc.hold}
			if got := c.workloadOf(rb, template, nil, nil, nil).Queue; got != tc.want {
				t.Errorf("it waits in queue %s, want %s", got, tc.want)
			}
		})
	}
}

// TestAClusterThatIsKnownLaterCounts: an informer may show a binding before its handler has seen earlier versions.
func TestAClusterThatIsKnownLaterCounts(t *testing.T) {
	c := newFake(t)
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "b", ResourceVersion: "2"}}
	rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","time":"2026-05-01T12:00:00Z","amounts":[]}`}
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "w"}
	before := rb.DeepCopy()
	before.ResourceVersion, before.Spec.Clusters = "1", []workv1alpha2.TargetCluster{{Name: "m1"}}
	add(t, c, "Deployment", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", UID: "d"}})
	if err := c.bindingInformer.GetStore().Add(rb); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, 1} {
		snapshot, err := c.Snapshot(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := snapshot.Workloads[0].Places; len(got) != want {
			t.Errorf("it may run in %v, want %d clusters", got, want)
		}
		c.bindingHandler().OnAdd(before, false)
		c.bindingHandler().OnUpdate(before, rb)
	}
}
