// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// component is the source of the events.
const component = "vc-dispatcher"

// notesPerSecond and notesAtOnce bound the number of workloads that get events, with two requests each. Client-go's recorder queues
// up to a thousand events and drops others: this is far less.
const (
	notesPerSecond = 25
	notesAtOnce    = 100
)

// Events writes events in the background. Above its rate limit, only the latest event of each workload waits, and actions of the
// dispatcher come first. Client-go's recorder aggregates repeated events and bounds the events of an object.
type Events struct {
	recorder record.EventRecorder
	limiter  flowcontrol.RateLimiter
	// wake has a value if the backlog may have something new.
	wake    chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex
	backlog backlog
}

// StartEvents starts to write events, until ctx ends. The client should not share its rate limit with the client that releases workloads.
func StartEvents(ctx context.Context, kube kubernetes.Interface) *Events {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	e := newEvents(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}))
	e.workers.Go(func() {
		defer broadcaster.Shutdown()
		e.run(ctx)
	})
	return e
}

func newEvents(recorder record.EventRecorder) *Events {
	return &Events{
		recorder: recorder, wake: make(chan struct{}, 1),
		limiter: flowcontrol.NewTokenBucketRateLimiter(notesPerSecond, notesAtOnce),
	}
}

// Shutdown waits until writing has ended. The context of StartEvents must have ended.
func (e *Events) Shutdown() { e.workers.Wait() }

// tell queues an event.
func (e *Events) tell(n note) {
	e.mu.Lock()
	e.backlog.put(n)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// forget drops the unwritten events of a binding or a queue that is gone.
func (e *Events) forget(object types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.backlog.drop(topic{object: object})
	e.backlog.drop(topic{object: object, notice: true})
}

func (e *Events) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		// The wait comes first, so the event is the latest one when it is written.
		for e.waits() {
			if err := e.limiter.Wait(ctx); err != nil {
				return
			}
			e.writeNext()
		}
	}
}

func (e *Events) waits() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.backlog.notes) > 0
}

// writeNext writes the first event.
func (e *Events) writeNext() {
	e.mu.Lock()
	n, found := e.backlog.next()
	e.mu.Unlock()
	if !found {
		return
	}
	for _, object := range n.objects {
		e.recorder.Event(object, n.eventType, n.reason, n.message)
	}
}

// objectsOf returns the object of a workload and its binding. A lost workload has no binding: then it returns the object and the cluster.
func objectsOf(w *framework.Workload) []*corev1.ObjectReference {
	b, r := w.Binding, &w.Binding.Spec.Resource
	object := &corev1.ObjectReference{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion}
	if w.Lost != "" {
		return []*corev1.ObjectReference{object, {APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.ResourceKindCluster, Name: w.Lost}}
	}
	return []*corev1.ObjectReference{
		object,
		{
			APIVersion: workv1alpha2.GroupVersion.String(), Kind: workv1alpha2.ResourceKindResourceBinding,
			Namespace: b.Namespace, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion,
		},
	}
}
