// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

func aBinding() *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train-job", UID: "1", ResourceVersion: "5"}}
}

// dispatcherWith returns a dispatcher whose patches of bindings get these answers in order, and the number of sent patches.
func dispatcherWith(t *testing.T, answers ...error) (*Dispatcher, *atomic.Int64) {
	t.Helper()
	api := karmadafake.NewSimpleClientset(aBinding())
	sent := &atomic.Int64{}
	api.PrependReactor("patch", "resourcebindings", func(k8stesting.Action) (bool, runtime.Object, error) {
		n := sent.Add(1)
		if int(n) <= len(answers) && answers[n-1] != nil {
			return true, nil, answers[n-1]
		}
		return false, nil, nil
	})
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train", ResourceVersion: "5"}}
	clients := &cache.Clients{
		Kubernetes: kubefake.NewSimpleClientset(), Karmada: api, Volcano: volcanofake.NewSimpleClientset(job),
		Queues: queuefake.NewSimpleClientset(), Metadata: newMetadata(t),
	}
	c, err := cache.New(clients, &framework.Config{})
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := report.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return &Dispatcher{cache: c, clients: clients, config: &framework.Config{}, metrics: metrics}, sent
}

func aDecision() []decision {
	return []decision{{Decision: report.Decision{Workload: &framework.Workload{Binding: aBinding()}}, patch: []byte(`{"metadata":{"annotations":{"a":"b"}}}`)}}
}

// TestNobodyIsChargedForAVersionOfAWorkloadThatIsGone: a new leader may know an old version. Of kinds that are not read, the binding has all.
func TestNobodyIsChargedForAVersionOfAWorkloadThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, version string
		change        *binding.Change
		want          error
	}{
		"an old version": {"Job", "4", nil, errLags},
		"the stored one": {"Job", "5", nil, nil},
		"an old version, and an update was noted":  {"Job", "4", &binding.Change{Replaces: "3"}, errLags},
		"a kind that is not read":                  {"Workflow", "4", nil, nil},
		"one that is not read, and that has moved": {"Workflow", "4", &binding.Change{}, nil},
	} {
		d, sent := dispatcherWith(t)
		decisions := aDecision()
		w := decisions[0].Workload
		w.Binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: tc.kind, Namespace: "ns", Name: "train"}
		w.Template = &workload.Template{ResourceVersion: tc.version, Fallback: tc.kind != "Job"}
		w.State.Grant, w.State.Change, decisions[0].counted = &binding.Grant{}, tc.change, true
		d.write(t.Context(), time.Now().Add(MaxDecisionAge), decisions)
		if !errors.Is(decisions[0].err, tc.want) || (tc.want == nil) != (sent.Load() == 1) {
			t.Errorf("%s: the grant is written with the error %v and %d patches, want %v", name, decisions[0].err, sent.Load(), tc.want)
		}
	}
}

var (
	errLost     = errors.New("connection reset by peer")
	errTooLarge = apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	errConflict = apierrors.NewConflict(workv1alpha2.Resource("resourcebindings"), "train-job", errors.New("it has changed"))
)

func TestAPatchWithoutAnAnswerIsSentAgainUntilItsFateIsKnown(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []error
		sent    int64
		want    error
	}{
		{"accepted at once", nil, 1, nil},
		{"refused at once", []error{errConflict}, 1, errConflict},
		{"too large for etcd", []error{errTooLarge}, 1, errTooLarge},
		{"the answer is lost and it was not accepted", []error{errLost, errLost}, 3, nil},
		{"the answer is lost and it was accepted", []error{errLost, errConflict}, 2, errConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, sent := dispatcherWith(t, tc.answers...)
			decisions := aDecision()
			d.write(t.Context(), time.Now().Add(MaxDecisionAge), decisions)
			if sent.Load() != tc.sent {
				t.Errorf("the patch was sent %d times, want %d", sent.Load(), tc.sent)
			}
			if !errors.Is(decisions[0].err, tc.want) {
				t.Errorf("the error is %v, want %v", decisions[0].err, tc.want)
			}
		})
	}
}

// TestAConflictIsNotRepeatedUntilTheInformerShowsItsCause: while a watch is late, each cycle would send the same patch again.
func TestAConflictIsNotRepeatedUntilTheInformerShowsItsCause(t *testing.T) {
	d, _ := dispatcherWith(t, errConflict)
	shown := aBinding()
	shown.ResourceVersion = "4"
	decisions := aDecision()
	decisions[0].Workload.Binding = shown
	d.write(t.Context(), time.Now().Add(MaxDecisionAge), decisions)
	select {
	case <-d.cache.Changed():
	default:
		t.Error("the dispatcher does not know the stored version of the binding")
	}
}

// TestNamespacesTakeTurnsWithTheirGrants: after a few seconds, the grants that are not written yet are decided anew.
func TestNamespacesTakeTurnsWithTheirGrants(t *testing.T) {
	const many = 10_000 // they take no time here, and the other namespace needs a moment to begin
	d, _ := dispatcherWith(t)
	var before, last atomic.Int64
	d.clients.Karmada.(*karmadafake.Clientset).PrependReactor("patch", "resourcebindings", func(action k8stesting.Action) (bool, runtime.Object, error) {
		if before.Add(1); action.GetNamespace() == "other" {
			last.Store(before.Load())
		}
		return true, aBinding(), nil
	})
	var decisions []decision
	for i := range many {
		one := aDecision()
		if i == many-1 {
			one[0].Workload.Binding.Namespace = "other"
		}
		decisions = append(decisions, one...)
	}
	d.write(t.Context(), time.Now().Add(time.Minute), decisions)
	if got := last.Load(); got == 0 || got > many/2 {
		t.Errorf("the only grant of a namespace is written as number %d of %d", got, many)
	}
}

func TestAnOldDecisionIsNotWritten(t *testing.T) {
	d, sent := dispatcherWith(t)
	decisions := aDecision()
	d.write(t.Context(), time.Now(), decisions)
	if sent.Load() != 0 || !errors.Is(decisions[0].err, errTooOld) {
		t.Errorf("the patch was sent %d times, and the error is %v, want none and %v", sent.Load(), decisions[0].err, errTooOld)
	}
}

func TestNothingIsSentForADecisionThatOnlyTells(t *testing.T) {
	d, sent := dispatcherWith(t)
	d.write(t.Context(), time.Now().Add(MaxDecisionAge), []decision{{Decision: report.Decision{Workload: &framework.Workload{Binding: aBinding()}}}})
	if sent.Load() != 0 {
		t.Errorf("%d patches were sent, want none", sent.Load())
	}
}

func TestADispatcherThatNoLongerLeadsGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, _ := dispatcherWith(t, errLost, errLost, errLost, errLost, errLost, errLost, errLost, errLost)
	cancel()
	decisions := aDecision()
	d.write(ctx, time.Now().Add(MaxDecisionAge), decisions)
	if !errors.Is(decisions[0].err, context.Canceled) {
		t.Errorf("the error is %v, want %v", decisions[0].err, context.Canceled)
	}
}

func TestAnEndThatGetsNoAnswerLeavesTimeForGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := dispatcherWith(t, slices.Repeat([]error{apierrors.NewInternalError(errors.New("failed calling webhook"))}, 1000)...)
		began := time.Now()
		ends := aDecision()
		d.write(t.Context(), began.Add(endsTake), ends)
		if ends[0].err == nil || time.Since(began) >= MaxDecisionAge {
			t.Errorf("after %s, the end has the error %v, want one before grants are too old to be written", time.Since(began), ends[0].err)
		}
	})
}

func TestADecisionThatWasNotWrittenIsMadeAgainEvenIfNothingChanges(t *testing.T) {
	for _, failed := range []error{errTooOld, apierrors.NewForbidden(workv1alpha2.Resource("resourcebindings"), "train-job", errors.New("denied"))} {
		c := &cycle{grants: aDecision()}
		c.grants[0].err = failed
		if c.again(noon); !c.next.Equal(noon) {
			t.Errorf("after %v, the next cycle is due at %s, want %s", failed, c.next, noon)
		}
	}
	c := &cycle{grants: aDecision()}
	if c.again(noon); !c.next.IsZero() {
		t.Error("a cycle is due although all has been written")
	}
}
