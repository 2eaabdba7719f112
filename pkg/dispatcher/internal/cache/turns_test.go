// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/client-go/tools/cache"

	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestManyRequestsOfANamespaceKeepNoOtherOneWaiting: each may have to count many workloads, and the API server waits for ten seconds.
func TestManyRequestsOfANamespaceKeepNoOtherOneWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var order []string
		end := turns.take("a")
		for range 50 {
			go func() {
				defer turns.take("a")()
				order = append(order, "a")
			}()
		}
		synctest.Wait()
		go func() {
			defer turns.take("b")()
			order = append(order, "b")
		}()
		synctest.Wait()
		end()
		synctest.Wait()
		if len(order) != 51 || order[0] != "b" {
			t.Errorf("they came in the order %v, want b first of 51", order)
		}
		if len(turns.of) > 0 {
			t.Errorf("still noted: %s", fmt.Sprint(turns.of))
		}
	})
}

// TestKarmadaDoesNotWaitBehindUsers: the few processes of Karmada that write bindings serve all namespaces.
func TestKarmadaDoesNotWaitBehindUsers(t *testing.T) {
	c := newFake(t)
	c.queues = queuelisters.NewQueueLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
	defer c.OfWorkloads.take("ns")()
	defer c.ofClaims.take("ns")()
	answered := make(chan error)
	go func() {
		_, err := c.OfBindings.Exceeds(&workload.Template{Namespace: "ns"}, &workv1alpha2.ResourceBinding{})
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the webhook for bindings waits for requests of users")
	}
}
