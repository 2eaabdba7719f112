// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	upstream "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	listers "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// queuesFixture is a queue writer with its API server and informer.
type queuesFixture struct {
	*testing.T
	*QueueWriter
	client  *fake.Clientset
	indexer cache.Indexer
	// failure is the answer to updates. Written has all attempts.
	failure func(queue string) error
	written []string
	version int
}

func newQueues(t *testing.T, queues ...string) *queuesFixture {
	f := &queuesFixture{T: t, client: fake.NewSimpleClientset(), indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), failure: func(string) error { return nil }}
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	f.QueueWriter = newQueueWriter(f.client.SchedulingV1beta1().Queues(), listers.NewQueueLister(f.indexer), metrics)
	f.client.PrependReactor("update", "queues", func(action clienttesting.Action) (bool, runtime.Object, error) {
		queue := action.(clienttesting.UpdateAction).GetObject().(*schedulingv1beta1.Queue)
		if action.GetSubresource() != "status" {
			t.Errorf("queue %s itself is updated", queue.Name)
		}
		f.written = append(f.written, queue.Name)
		err := f.failure(queue.Name)
		f.version++
		queue.ResourceVersion = fmt.Sprint(f.version)
		return err != nil, nil, err
	})
	for _, name := range queues {
		f.create(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "0"}})
	}
	return f
}

func (f *queuesFixture) create(queue *schedulingv1beta1.Queue) {
	if _, err := f.client.SchedulingV1beta1().Queues().Create(f.Context(), queue, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	if err := f.indexer.Add(queue); err != nil {
		f.Fatal(err)
	}
}

// watched updates the informer.
func (f *queuesFixture) watched() {
	queues, err := f.client.SchedulingV1beta1().Queues().List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range queues.Items {
		if err := f.indexer.Update(&queues.Items[i]); err != nil {
			f.Fatal(err)
		}
	}
}

// cores returns the report of a queue that is charged n cores.
func cores(n int64) *queueReport {
	return &queueReport{usage: QueueUsage{Dimensions: []DimensionUsage{{Dimension: cpu, Allocated: ledger.Units(n)}}}}
}

func TestTheStatusOfAQueue(t *testing.T) {
	amount := func(d ledger.Dimension, a ledger.Amount) DimensionUsage {
		return DimensionUsage{Dimension: d, Allocated: a}
	}
	report := queueReport{
		usage: QueueUsage{Dimensions: []DimensionUsage{
			amount(cpu, ledger.Scaled(1500, thousandth)), amount(memory, ledger.Units(3<<30)), amount(gpu, ledger.Units(2)),
			amount(ledger.Dimension{Name: "example.com/none"}, ledger.Amount{}), amount(h100, ledger.Units(2)), amount(h200, ledger.Units(2)),
		}},
		workloads: workloadCounts{pending: 1, inqueue: 2, running: 4, growing: 8, returning: 16, completed: 32, deleting: 64},
	}
	for _, c := range []struct {
		name   string
		report queueReport
		before upstream.QueueStatus
		want   string
	}{
		{
			"a new queue", report, upstream.QueueStatus{},
			`{"state":"Open","unknown":64,"pending":17,"running":12,"inqueue":2,"completed":32,"reservation":{},"allocated":{"cpu":"1500m","memory":"3Gi","nvidia.com/gpu":"2"}}`,
		},
		{
			"a queue that somebody closed, with another usage", report,
			upstream.QueueStatus{State: upstream.QueueStateClosed, Running: 99, Reservation: upstream.Reservation{Nodes: []string{"n"}}, Allocated: corev1.ResourceList{"other": resource.MustParse("1")}},
			`{"state":"Closed","unknown":64,"pending":17,"running":12,"inqueue":2,"completed":32,"reservation":{"nodes":["n"]},"allocated":{"cpu":"1500m","memory":"3Gi","nvidia.com/gpu":"2"}}`,
		},
		{
			"an idle queue", queueReport{usage: QueueUsage{Dimensions: []DimensionUsage{amount(cpu, ledger.Amount{}), amount(memory, ledger.Amount{})}}}, upstream.QueueStatus{},
			`{"state":"Open","reservation":{},"allocated":{"cpu":"0","memory":"0"}}`,
		},
		{"a queue that has no place in the tree", queueReport{}, upstream.QueueStatus{}, `{"state":"Open","reservation":{},"allocated":{}}`},
	} {
		got, err := json.Marshal(c.report.status(&c.before))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: the status is\n%s (%v), want\n%s", c.name, got, err, c.want)
		}
	}
}

func TestTheStatusIsWrittenWhenItDiffers(t *testing.T) {
	f := newQueues(t, "a", "b")
	for _, step := range []struct {
		name    string
		before  func()
		written string
	}{
		{"nothing is known", func() {}, ""},
		{"a queue is used", func() { f.set(map[string]*queueReport{"a": cores(4)}) }, "a"},
		{"the informer is late", func() {}, ""},
		{"and the usage changes again", func() { f.set(map[string]*queueReport{"a": cores(5)}) }, ""},
		{"the informer has it", f.watched, "a"},
		{"nothing changes", f.watched, ""},
		{"the same again", func() { f.set(map[string]*queueReport{"a": cores(5)}) }, ""},
		{"a queue that does not exist", func() { f.set(map[string]*queueReport{"a": cores(5), "gone": cores(1)}) }, ""},
		{"both are used", func() { f.set(map[string]*queueReport{"a": cores(6), "b": cores(1)}) }, "a b"},
	} {
		step.before()
		f.written = nil
		if err := f.write(t.Context()); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		slices.Sort(f.written)
		if got := strings.Join(f.written, " "); got != step.written {
			t.Errorf("%s: written are %q, want %q", step.name, got, step.written)
		}
	}
	queue, err := f.client.SchedulingV1beta1().Queues().Get(t.Context(), "a", metav1.GetOptions{})
	if got := queue.Status.Allocated.Cpu().String(); err != nil || got != "6" || queue.Status.State != upstream.QueueStateOpen {
		t.Errorf("the status is %v, error %v", queue.Status, err)
	}
}

func TestAStatusThatCannotBeWrittenKeepsNobodyElseWaiting(t *testing.T) {
	names := []string{"refused", "a", "b", "c", "d", "e"}
	forbidden := apierrors.NewForbidden(schedulingv1beta1.Resource("queues"), "refused", errors.New("denied by a webhook"))
	conflict := apierrors.NewConflict(schedulingv1beta1.Resource("queues"), "refused", errors.New("it has changed"))
	for _, c := range []struct {
		name    string
		failure error
		fails   bool
		// again says that the second attempt tries the queue again.
		again bool
	}{
		{"denied", forbidden, true, true},
		{"a conflict", conflict, false, true},
		{"written", nil, false, false},
	} {
		f := newQueues(t, names...)
		f.failure = func(queue string) error {
			if queue == "refused" {
				return c.failure
			}
			return nil
		}
		wanted := map[string]*queueReport{}
		for _, name := range names {
			wanted[name] = cores(1)
		}
		f.set(wanted)
		if err := f.write(t.Context()); err != nil != c.fails || len(f.written) != len(names) {
			t.Errorf("%s: error %v, tried are %v", c.name, err, f.written)
		}
		f.written = nil
		if err := f.write(t.Context()); err != nil != c.fails || slices.Contains(f.written, "refused") != c.again || len(f.written) > 1 {
			t.Errorf("%s: the second time, error %v, tried are %v", c.name, err, f.written)
		}
	}
}

func TestNothingElseIsTriedWithoutAnAPIServer(t *testing.T) {
	f := newQueues(t, "a", "b")
	f.failure = func(string) error { return errors.New("connection refused") }
	f.set(map[string]*queueReport{"a": cores(1), "b": cores(1)})
	if err := f.write(t.Context()); err == nil || len(f.written) != 1 {
		t.Errorf("error %v, tried are %v", err, f.written)
	}
}

func TestDevicesAndCardsAreInAnnotations(t *testing.T) {
	f := newQueues(t, "a")
	queue := &schedulingv1beta1.Queue{}
	usage := QueueUsage{Dimensions: []DimensionUsage{
		{Dimension: cpu, Allocated: ledger.Units(4)},
		{Dimension: h100, Allocated: ledger.Units(6), Request: ledger.Units(8), Capability: ledger.AtMost(ledger.Units(8)), Limit: ledger.AtMost(ledger.Units(8))},
		{Dimension: h200, Allocated: ledger.Units(2), Request: ledger.Units(2)},
	}}
	for _, step := range []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"a queue", nil, "map[volcano.sh/card.usage:NVIDIA-H200 2 volcano.sh/device.usage:h100 6/8 (2 waiting)]"},
		{"Karmada propagates it", map[string]string{policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: "1"}, "map[]"},
		{"it does so no more", map[string]string{"other": "label"}, "map[volcano.sh/card.usage:NVIDIA-H200 2 volcano.sh/device.usage:h100 6/8 (2 waiting)]"},
	} {
		queue.Labels = step.labels
		f.set(map[string]*queueReport{"a": newQueueReport(queue, usage, &workloadCounts{})})
		if err := f.usage.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.watched()
		written, err := f.lister.Get("a")
		if got := fmt.Sprint(written.Annotations); err != nil || got != step.want {
			t.Errorf("%s: the annotations are %s, want %s, error %v", step.name, got, step.want, err)
		}
	}
}
