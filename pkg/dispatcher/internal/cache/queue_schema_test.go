// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
)

// TestAQueueWhoseQuotaIsHiddenGrantsNothing: its CRD lacks spec.dra. When the CRD is right again, the API server goes on to send the informer what the CRD
// before had.
func TestAQueueWhoseQuotaIsHiddenGrantsNothing(t *testing.T) {
	fake := newFake(t)
	var served, silent atomic.Bool
	fake.clients.ServesDRA = func(context.Context) (bool, error) {
		if silent.Load() {
			return false, errors.New("no answer")
		}
		return served.Load(), nil
	}
	fake.clients.Queues.(*queuefake.Clientset).PrependReactor("list", "queues", func(k8stesting.Action) (bool, runtime.Object, error) {
		queue := schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "1"}}
		if served.Load() {
			queue.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {}}}
		}
		return true, &schedulingv1beta1.QueueList{Items: []schedulingv1beta1.Queue{queue}}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	expect := func(when string, limited bool, unread error) {
		t.Helper()
		fake.probeSchema(ctx)
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			queue, err := fake.queues.Get("team")
			return err == nil && (queue.Spec.DRA != nil) == limited, nil
		})
		if err != nil {
			t.Fatalf("%s: the queue is not read, or its quota should be there: %t", when, limited)
		}
		_, limits, err := fake.begin(fake.counter, fake.claimReader())
		if got := limits["team"]; err != nil || len(got.Capability) > 0 != limited || !errors.Is(got.Err, unread) || unread == nil && got.Err != nil {
			t.Errorf("%s: got limits %+v, %v", when, got, err)
		}
	}
	fake.probeSchema(ctx)
	running := make(chan error, 1)
	go func() { running <- fake.Run(ctx) }()
	defer func() { cancel(); <-running }()
	expect("without the field", false, errNoDRA)
	silent.Store(true)
	expect("without an answer", false, errNoDRA)
	served.Store(true)
	silent.Store(false)
	expect("with the field", true, nil)
}

// TestAQuotaIsKnownToBeMissingOnlyIfTheAPIServerSaysSo: for a while, the informer shows queues as the CRD before served them.
func TestAQuotaIsKnownToBeMissingOnlyIfTheAPIServerSaysSo(t *testing.T) {
	fake := newFake(t)
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	fake.queues = queuelisters.NewQueueLister(store)
	queue := func(limited bool) *schedulingv1beta1.Queue {
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "1"}}
		if limited {
			queue.Spec.DRA = &schedulingv1beta1.DRAQuota{}
		}
		return queue
	}
	const none, lacks, serves = "no answer", "lacks", "serves"
	var answer string
	var listed *schedulingv1beta1.Queue
	fake.clients.ServesDRA = func(context.Context) (bool, error) {
		if answer == none {
			return false, errors.New(none)
		}
		return answer == serves, nil
	}
	fake.clients.Queues.(*queuefake.Clientset).PrependReactor("list", "queues", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &schedulingv1beta1.QueueList{Items: []schedulingv1beta1.Queue{*listed}}, nil
	})
	for _, step := range []struct {
		name          string
		shown, stored bool
		answer        string
		polls         bool
		want          error
		expires       bool
	}{
		{"a queue without quota, nobody answers", false, false, none, false, errUnconfirmed, false},
		{"a queue without quota", false, false, serves, false, nil, false},
		{"nobody answers any more", false, false, none, false, nil, false},
		{"it gets a quota", true, true, none, false, nil, false},
		{"the field is away, and nobody has asked yet", false, true, none, false, errUnconfirmed, false},
		{"the field is away", false, true, lacks, true, errNoDRA, false},
		{"the field is back, the informer is late", false, true, serves, true, errUnconfirmed, true},
		{"it is still late", false, true, serves, false, errUnconfirmed, true},
		{"it has the quota", true, true, serves, false, nil, false},
		{"the quota is removed", false, false, serves, false, nil, false},
	} {
		answer, listed = step.answer, queue(step.stored)
		if err := store.Replace([]any{queue(step.shown)}, ""); err != nil {
			t.Fatal(err)
		}
		outdated := fake.queueSchema.untilOutdated()
		fake.ConfirmQuotas(t.Context())
		if step.polls {
			fake.probeSchema(t.Context())
		}
		expired := false
		select {
		case <-outdated:
			expired = true
		default:
		}
		if got := fake.HidesDRA(queue(step.shown)); got != step.want || expired != step.expires {
			t.Errorf("%s: got %v, the informer lists again: %t, want %v, %t", step.name, got, expired, step.want, step.expires)
		}
	}
}
