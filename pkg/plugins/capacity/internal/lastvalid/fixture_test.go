// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/queueschema"
)

var queuesResource = schedulingv1beta1.SchemeGroupVersion.WithResource("queues")

// fixture is a cluster with one queue, as stored by the API server and as read by sessions.
type fixture struct {
	*testing.T
	*Cache
	server     *fake.Clientset
	read       toolscache.Indexer
	dimensions *ledger.Dimensions
	events     *record.FakeRecorder
	// stock says that the Queue CRD has no field spec.dra.
	stock bool
	// unreachable says that the API server answers no probe.
	unreachable bool
	// forbidden says that the scheduler may not patch queues.
	forbidden bool
	// conflicts is the number of patches that conflict from now on.
	conflicts int
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		T: t, server: fake.NewSimpleClientset(), dimensions: &ledger.Dimensions{}, events: record.NewFakeRecorder(10),
		read: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{}),
	}
	f.server.PrependReactor("patch", "queues", f.patch)
	f.server.PrependReactor("get", "queues", func(clienttesting.Action) (bool, runtime.Object, error) { return true, f.served(), nil })
	f.check(f.server.Tracker().Add(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "1", Generation: 1, ResourceVersion: "1"}}))
	f.restart()
	return f
}

// restart begins a new process.
func (f *fixture) restart() {
	f.Cache = New(schedulinglisters.NewQueueLister(f.read))
	f.client, f.recorder, f.clock = f.server, f.events, testclock.NewFakeClock(time.Unix(1000, 0))
	f.servesDRA = func(context.Context) (bool, error) {
		if f.unreachable {
			return false, errors.New("no answer")
		}
		return !f.stock, nil
	}
	f.probe(f.Context())
}

func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) stored() *schedulingv1beta1.Queue {
	object, err := f.server.Tracker().Get(queuesResource, "", "q")
	f.check(err)
	return object.(*schedulingv1beta1.Queue).DeepCopy()
}

// served returns the queue as the CRD shows it.
func (f *fixture) served() *schedulingv1beta1.Queue {
	queue := f.stored()
	if f.stock {
		queue.Spec.DRA = nil
	}
	return queue
}

// edit writes the queue as the API server does.
func (f *fixture) edit(change func(*schedulingv1beta1.Queue)) {
	before, after := f.served(), f.served()
	change(after)
	if !reflect.DeepEqual(before.Spec, after.Spec) {
		after.Generation++
	}
	if f.stock {
		after.Spec.DRA = nil
	}
	after.ResourceVersion += "1"
	f.check(f.server.Tracker().Update(queuesResource, after, ""))
}

func (f *fixture) setDevices(n int64) {
	f.edit(func(q *schedulingv1beta1.Queue) {
		q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: n}}}
	})
}

func (f *fixture) setCards(text string) { f.annotated(schedulingv1beta1.CardQuotaAnnotation, text) }

// annotated sets an annotation, or removes it if the text is empty.
func (f *fixture) annotated(name, text string) {
	f.edit(func(q *schedulingv1beta1.Queue) {
		if q.Annotations == nil {
			q.Annotations = map[string]string{}
		}
		if q.Annotations[name] = text; text == "" {
			delete(q.Annotations, name)
		}
	})
}

func (f *fixture) setParent(name string) {
	f.edit(func(q *schedulingv1beta1.Queue) { q.Spec.Parent = name })
}
func (f *fixture) writeStatus()   { f.edit(func(q *schedulingv1beta1.Queue) { q.Status.Running++ }) }
func (f *fixture) removeDevices() { f.edit(func(q *schedulingv1beta1.Queue) { q.Spec.DRA = nil }) }

// patch applies a merge patch with strict field validation.
func (f *fixture) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	var body struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]*string
		}
		Spec struct{ DRA *schedulingv1beta1.DRAQuota }
	}
	f.check(json.Unmarshal(patch.Patch, &body))
	switch {
	case f.forbidden:
		return true, nil, apierrors.NewForbidden(queuesResource.GroupResource(), "q", errors.New("no permission"))
	case f.conflicts > 0 || body.Metadata.ResourceVersion != f.served().ResourceVersion:
		f.conflicts--
		return true, nil, apierrors.NewConflict(queuesResource.GroupResource(), "q", errors.New("it changed"))
	case f.stock && body.Spec.DRA != nil:
		return true, nil, apierrors.NewInvalid(schedulingv1beta1.SchemeGroupVersion.WithKind("Queue").GroupKind(), "q",
			field.ErrorList{field.Invalid(field.NewPath("patch"), "", "strict decoding error: "+queueschema.UnknownDRA)})
	}
	for name, text := range body.Metadata.Annotations {
		f.annotated(name, ptr.Deref(text, ""))
	}
	if dra := body.Spec.DRA; limitsDevices(dra) {
		f.edit(func(q *schedulingv1beta1.Queue) { q.Spec.DRA = dra })
	}
	return true, f.served(), nil
}

// session delivers the queue to the cache, and returns the effective quotas.
func (f *fixture) session() (Quotas, problems.Problems) {
	f.Helper()
	f.check(f.read.Add(f.served()))
	return f.again()
}

// again returns the effective quotas before the cache reads the queue again.
func (f *fixture) again() (Quotas, problems.Problems) {
	f.Helper()
	quotas, err := f.Of("q", "1", f.dimensions)
	f.check(err)
	found := problems.Problems{}
	quotas.Report(found, "q")
	return quotas, found
}

// background does the pending work of the background.
func (f *fixture) background() {
	select {
	case <-f.asked:
		f.probe(f.Context())
	default:
	}
	for f.work.Len() > 0 {
		name, _ := f.work.Get()
		f.writeQueue(f.Context(), name)
		f.work.Done(name)
	}
}

// settle alternates sessions and background work until nothing more happens.
func (f *fixture) settle() {
	f.Helper()
	for range 5 {
		f.session()
		f.background()
	}
}

// texts returns amounts as words, such as h100=8.
func (f *fixture) texts(amounts ledger.Amounts) (all []string) {
	for _, e := range amounts {
		all = append(all, f.dimensions.Dimension(e.Dimension).Name+"="+e.Amount.String())
	}
	return all
}

// expectProblem checks the message about quotas that cannot be read. An empty one must be absent.
func (f *fixture) expectProblem(when string, found problems.Problems, want string) {
	f.Helper()
	message := found[problems.Problem{Queue: "q", Reason: problems.QuotaNotReadReason}]
	if !strings.Contains(message, want) || want == "" && message != "" {
		f.Errorf("%s: problem %q, want %q", when, message, want)
	}
}

// expect checks the effective quotas, such as "h100=8", and the reasons of the problems.
func (f *fixture) expect(when, want string, reasons ...string) {
	f.Helper()
	quotas, found := f.session()
	var got []string
	for _, list := range []struct {
		prefix  string
		amounts ledger.Amounts
	}{{"", quotas.Devices.Capability}, {"", quotas.Cards.Capability}, {"deserved ", quotas.Cards.Deserved}, {"guarantee ", quotas.Cards.Guarantee}} {
		for _, text := range f.texts(list.amounts) {
			got = append(got, list.prefix+text)
		}
	}
	if quotas.DevicesErr != nil {
		got = append(got, "refused")
	}
	if strings.Join(got, " ") != want {
		f.Errorf("%s: %q holds, want %q", when, strings.Join(got, " "), want)
	}
	for _, reason := range reasons {
		if found[problems.Problem{Queue: "q", Reason: reason}] == "" {
			f.Errorf("%s: no problem %s, but %v", when, reason, found)
		}
	}
	if len(reasons) != len(found) {
		f.Errorf("%s: problems %v, want %v", when, found, reasons)
	}
}

// expectSettled is expect after settle.
func (f *fixture) expectSettled(when, want string, reasons ...string) {
	f.Helper()
	f.settle()
	f.expect(when, want, reasons...)
}

// expectStored checks how many devices spec.dra allows, as stored by the API server. It is -1 without spec.dra.
func (f *fixture) expectStored(when string, want int64) {
	f.Helper()
	got := int64(-1)
	if dra := f.stored().Spec.DRA; dra != nil {
		got = dra.Capability["h100"].Count
	}
	if got != want {
		f.Errorf("%s: the API server stores %d devices, want %d", when, got, want)
	}
}

func (f *fixture) expectLastValid(when, want string) {
	f.Helper()
	if got := f.stored().Annotations[schedulingv1beta1.LastValidQuotaAnnotation]; got != want {
		f.Errorf("%s: the annotation is %s, want %s", when, got, want)
	}
}

func (f *fixture) expectEvents(when string, want ...string) {
	f.Helper()
	var got []string
	for len(f.events.Events) > 0 {
		got = append(got, <-f.events.Events)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("%s: events %q, want %q", when, got, want)
	}
}
