// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestStatusOfQueues tests that sessions do not wait for the status of queues, and that the latest numbers are written, once a second.
func TestStatusOfQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var written []string
		p := &pods{queues: newQueueStatuses(func(queue *api.QueueInfo) error {
			written = append(written, fmt.Sprintf("%s: %s has %s cpu", time.Since(began), queue.Name, queue.Queue.Status.Allocated.Cpu()))
			if len(written) == 1 {
				return errors.New("the queue has changed")
			}
			return nil
		})}
		ctx, cancel := context.WithCancel(t.Context())
		p.queues.run(ctx)
		team, other := queueNamed("team"), queueNamed("other")
		allocate := func(queue *api.QueueInfo, cpu string) {
			queue.Queue.Status.Allocated = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)} // as a session does
			if err := p.UpdateQueueStatus(queue); err != nil {
				t.Error(err)
			}
		}
		allocate(team, "1")
		synctest.Wait()
		allocate(team, "1") // by the next session, because the first write failed
		synctest.Wait()
		for _, cpu := range []string{"2", "3", "4"} {
			allocate(team, cpu)
			time.Sleep(100 * time.Millisecond)
		}
		allocate(other, "1")
		time.Sleep(time.Minute)
		allocate(team, "5")
		synctest.Wait()
		cancel()
		synctest.Wait()
		want := []string{"0s: team has 1 cpu", "0s: team has 1 cpu", "300ms: other has 1 cpu", "1s: team has 4 cpu", "1m0.3s: team has 5 cpu"}
		if diff := cmp.Diff(want, written); diff != "" {
			t.Errorf("the writes differ (-want +got):\n%s", diff)
		}
	})
}

// TestQueuesWithoutNewsAreForgotten tests that queues that come and go do not fill the memory.
func TestQueuesWithoutNewsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueStatuses(func(*api.QueueInfo) error { return nil })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q.run(ctx)
		for i := range 5000 {
			q.ask(queueNamed(fmt.Sprint("queue-", i)))
			time.Sleep(10 * time.Millisecond)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.latest) > 1200 {
			t.Errorf("%d queues are kept", len(q.latest))
		}
	})
}

func queueNamed(name string) *api.QueueInfo {
	return &api.QueueInfo{UID: api.QueueID(name), Name: name, Queue: &scheduling.Queue{}}
}
