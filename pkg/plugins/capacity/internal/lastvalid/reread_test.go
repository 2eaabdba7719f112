// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
)

// TestQueuesAreReadAgainWhenTheirFieldIsBack: the API server goes on to send the informer what the CRD before had.
func TestQueuesAreReadAgainWhenTheirFieldIsBack(t *testing.T) {
	quota := &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {}}}
	queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "1"}}
	var served atomic.Bool
	server := fake.NewSimpleClientset()
	server.PrependReactor("list", "queues", func(clienttesting.Action) (bool, runtime.Object, error) {
		shown := queue.DeepCopy()
		if served.Load() {
			shown.Spec.DRA = quota
		}
		return true, &schedulingv1beta1.QueueList{Items: []schedulingv1beta1.Queue{*shown}}, nil
	})
	c := New(nil)
	c.servesDRA = func(context.Context) (bool, error) { return served.Load(), nil }
	informer := c.newInformer(server, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go informer.RunWithContext(ctx)
	await := func(what string, reads bool) {
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			object, found, err := informer.GetStore().GetByKey("q")
			return found && (object.(*schedulingv1beta1.Queue).Spec.DRA != nil) == reads, err
		})
		if err != nil {
			t.Fatalf("%s: the queue is not read, or with spec.dra, which should be %t: %v", what, reads, err)
		}
	}
	c.probe(ctx)
	await("at first", false)
	served.Store(true)
	c.probe(ctx)
	await("when the field is back", true)
}
