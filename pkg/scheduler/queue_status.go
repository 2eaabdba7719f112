// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

const (
	// queueWriters is how many statuses of queues are written at the same time, and queueSpacing the time between two writes of a queue.
	queueWriters = 4
	queueSpacing = time.Second
)

// queueStatuses writes what queues have allocated, the latest numbers once a second. Volcano writes them in each session, one queue after the other, and the
// session waits.
type queueStatuses struct {
	write func(*api.QueueInfo) error
	work  workqueue.TypedDelayingInterface[api.QueueID]

	mu sync.Mutex
	// latest has what to write of queues. It has an entry, maybe nil, for each queue that was written in the last second.
	latest map[api.QueueID]*api.QueueInfo
}

func newQueueStatuses(write func(*api.QueueInfo) error) *queueStatuses {
	return &queueStatuses{write: write, work: workqueue.NewTypedDelayingQueue[api.QueueID](), latest: map[api.QueueID]*api.QueueInfo{}}
}

// UpdateQueueStatus implements schedulercache.Cache. It does not wait for the API server. What cannot be written, because the queue has changed, differs
// from what the next session finds, which asks again.
func (p *pods) UpdateQueueStatus(queue *api.QueueInfo) error {
	p.queues.ask(queue)
	return nil
}

func (q *queueStatuses) ask(queue *api.QueueInfo) {
	kept := *queue
	kept.Queue = queue.Queue.DeepCopy() // the next session changes the original
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, due := q.latest[queue.UID]; !due {
		q.work.Add(queue.UID)
	}
	q.latest[queue.UID] = &kept
}

// run writes until ctx ends.
func (q *queueStatuses) run(ctx context.Context) {
	context.AfterFunc(ctx, q.work.ShutDown)
	for range queueWriters {
		go func() {
			for q.writeNext() {
			}
		}()
	}
}

func (q *queueStatuses) writeNext() bool {
	id, ends := q.work.Get()
	if ends {
		return false
	}
	defer q.work.Done(id)
	queue := q.take(id)
	if queue == nil {
		return true
	}
	if err := q.write(queue); err != nil {
		klog.V(3).InfoS("The status of a queue is not written, the next session tries again", "queue", queue.Name, "reason", err.Error())
		q.work.Add(id)
		return true
	}
	q.work.AddAfter(id, queueSpacing)
	return true
}

// take returns what to write of a queue. It forgets the queue if there is nothing.
func (q *queueStatuses) take(id api.QueueID) *api.QueueInfo {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.latest[id]
	if queue == nil {
		delete(q.latest, id)
	} else {
		q.latest[id] = nil
	}
	return queue
}
