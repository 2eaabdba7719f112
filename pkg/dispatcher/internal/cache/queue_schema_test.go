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

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
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
