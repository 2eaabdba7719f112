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
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestManyRequestsOfANamespaceKeepNoOtherOneWaiting: each may have to count many workloads, and the API server waits for ten seconds.
func TestManyRequestsOfANamespaceKeepNoOtherOneWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var order []string
		end := turnOf(t, turns, "a")
		for range 50 {
			go func() {
				defer turnOf(t, turns, "a")()
				order = append(order, "a")
			}()
		}
		synctest.Wait()
		go func() {
			defer turnOf(t, turns, "b")()
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

func turnOf(t *testing.T, turns *turns, namespace string) (end func()) {
	end, err := turns.take(namespace)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	return end
}

// TestRequestsThatNobodyWaitsForAnyMoreAreForgotten: a user may go on to send requests of some megabytes that take longer to count than to send.
func TestRequestsThatNobodyWaitsForAnyMoreAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		end := turnOf(t, turns, "a")
		for range 50 {
			go func() {
				if end, err := turns.take("a"); err == nil {
					end()
				}
			}()
		}
		go func() {
			if end, err := turns.take("b"); err == nil {
				end()
			}
		}()
		time.Sleep(turnTakes + time.Second)
		synctest.Wait()
		turns.mu.Lock()
		if waits := turns.of["a"].wanted + len(turns.of); waits != 2 {
			t.Errorf("%d requests are kept of which nobody wants an answer any more", waits-2)
		}
		turns.mu.Unlock()
		end()
		turnOf(t, turns, "a")()
		turnOf(t, turns, "b")()
	})
}

// TestAClaimOfManyWorkloadsKeepsNoOtherNamespaceWaiting: jobs of thousands of tasks without replicas cost no quota, and reading one takes a quarter of a second.
func TestAClaimOfManyWorkloadsKeepsNoOtherNamespaceWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(t)
		c.queues = queuelisters.NewQueueLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
		c.ofClaims.lasts = 0
		for i := range 3 {
			rb := &workv1alpha2.ResourceBinding{}
			rb.Namespace, rb.Name, rb.Annotations = "a", fmt.Sprint(i), map[string]string{binding.GrantAnnotation: `{"queue":"team"}`}
			if err := c.bindingInformer.GetStore().Add(rb); err != nil {
				t.Fatal(err)
			}
		}
		var order []string
		end := turnOf(t, c.ofClaims.turns, "first")
		go func() {
			if _, _, err := c.GrowsWith(template("a", "new", 1), true); err != nil {
				t.Error(err)
			}
			order = append(order, "a")
		}()
		synctest.Wait()
		go func() {
			defer turnOf(t, c.ofClaims.turns, "b")()
			order = append(order, "b")
		}()
		synctest.Wait()
		end()
		synctest.Wait()
		if len(order) != 2 || order[0] != "b" {
			t.Errorf("they are answered in the order %v, want b before all workloads of a are read", order)
		}
	})
}

// TestKarmadaDoesNotWaitBehindUsers: the few processes of Karmada that write bindings serve all namespaces.
func TestKarmadaDoesNotWaitBehindUsers(t *testing.T) {
	c := newFake(t)
	c.queues = queuelisters.NewQueueLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
	defer turnOf(t, c.OfWorkloads.turns, "ns")()
	defer turnOf(t, c.ofClaims.turns, "ns")()
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
