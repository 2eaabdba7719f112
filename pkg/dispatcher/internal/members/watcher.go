// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

// Reasons of the events on Cluster objects.
const (
	// ReasonNotRead says that the cards and devices of a cluster cannot be read, and what counts instead.
	ReasonNotRead = "CardsAndDevicesNotRead"
	// ReasonRead says that they can be read again.
	ReasonRead = "CardsAndDevicesRead"
)

// watcher keeps the report of a member up to date. What it reads stays the same as long as the way to the member does. The last report
// stays while the member cannot be read, or is read anew.
type watcher struct {
	options Options
	cancel  context.CancelFunc
	wakes   chan struct{}
	latest  atomic.Pointer[hardware]

	mu     sync.Mutex
	object *clusterv1alpha1.Cluster
	wanted wanted

	// The rest belongs to run.

	secret  *secret
	via     connection
	reading *reading
	// told is what was reported last, nil if everything is in order.
	told error
}

func newWatcher(options Options, wanted wanted) *watcher {
	w := &watcher{options: options, wakes: make(chan struct{}, 1), wanted: wanted}
	w.latest.Store(unread)
	return w
}

// hardware is what the member reported last.
func (w *watcher) hardware() *hardware { return w.latest.Load() }

func (w *watcher) wake() {
	select {
	case w.wakes <- struct{}{}:
	default:
	}
}

// follow notes how the cluster is to be reached now.
func (w *watcher) follow(object *clusterv1alpha1.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.object = object
	w.wake()
}

// want notes what sessions ask for.
func (w *watcher) want(wanted wanted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = wanted
	w.wake()
}

// run follows the member until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			w.disconnect()
			w.secret.stop()
			return
		case <-w.wakes:
			w.step(ctx)
		}
	}
}

// step does what the changes since the last step ask for.
func (w *watcher) step(ctx context.Context) {
	w.mu.Lock()
	object, wanted := w.object, w.wanted
	w.mu.Unlock()
	if !wanted.any {
		return
	}
	problem := w.connect(ctx, &object.Spec)
	last := w.latest.Load()
	next := last
	switch {
	case w.reading == nil:
		if problem != nil && last == unread {
			next = unseen
		}
	case w.reading.ready():
		next = w.reading.count(last, wanted.classes)
		problem = errors.Join(problem, w.reading.failing())
	default:
		problem = errors.Join(problem, w.reading.failing())
		if problem != nil && last == unread {
			next = unseen
		}
	}
	w.tell(object, problem, next)
	if next != last {
		w.latest.Store(next)
		w.options.Changed()
	}
}

// connect reads the member through the connection that its Cluster object and its Secret say now.
func (w *watcher) connect(ctx context.Context, spec *clusterv1alpha1.ClusterSpec) error {
	if err := hasSecret(spec); err != nil {
		w.disconnect()
		return err
	}
	if w.secret == nil || w.secret.ref != *spec.SecretRef {
		w.secret.stop()
		var err error
		if w.secret, err = followSecret(ctx, w.options.Secrets, *spec.SecretRef, w.wake); err != nil {
			return err
		}
	}
	secret, err := w.secret.get()
	if secret == nil {
		if err != nil {
			w.disconnect()
		}
		return err
	}
	via, err := connectionTo(spec, secret)
	if err != nil {
		w.disconnect()
		return err
	}
	if w.reading != nil && via == w.via {
		return nil
	}
	w.disconnect()
	config, err := via.config()
	if err != nil {
		return err
	}
	kube, err := w.options.Connect(config)
	if err != nil {
		return fmt.Errorf("connect to it: %w", err)
	}
	w.via = via
	w.reading, err = read(ctx, kube, w.options.CardResources, w.wake)
	return err
}

func (w *watcher) disconnect() {
	if w.reading != nil {
		w.reading.stop()
		w.reading = nil
	}
}

// tell reports a problem when it begins and when it ends. A problem whose words change stays the same problem.
func (w *watcher) tell(object *clusterv1alpha1.Cluster, problem error, counts *hardware) {
	if (problem == nil) == (w.told == nil) {
		return
	}
	w.told = problem
	if problem == nil {
		klog.InfoS("The cards and devices of a member cluster can be read", "cluster", object.Name)
		w.options.Notify(object, corev1.EventTypeNormal, ReasonRead, fmt.Sprintf("The cards and devices of cluster %s are read again", object.Name))
		return
	}
	instead := "a workload fits whatever cards and devices it needs"
	if counts.amounts != nil {
		instead = "what was read last counts"
	}
	klog.InfoS("The cards and devices of a member cluster cannot be read", "cluster", object.Name, "reason", problem.Error(), "instead", instead)
	w.options.Notify(object, corev1.EventTypeWarning, ReasonNotRead, fmt.Sprintf("The cards and devices of cluster %s are not read, and %s: %s", object.Name, instead, problem.Error()))
}
