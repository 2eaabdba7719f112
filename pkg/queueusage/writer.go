// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

const (
	// interval is how often annotations are brought up to date, and retry how long to wait after a failure.
	interval = time.Second
	retry    = 30 * time.Second
)

// Writer writes the usage of queues to their annotations, in the background. Volcano updates the status of queues
// with a type of its own, and would drop fields that it does not know.
type Writer struct {
	// Annotations returns those of a queue as they were read last; false if there is no such queue.
	Annotations func(queue string) (map[string]string, bool)
	// Patch applies a JSON merge patch to a queue. Nobody else writes these annotations, so that it cannot conflict.
	Patch func(ctx context.Context, queue string, patch []byte) error

	mu     sync.Mutex
	wanted map[string]Usage
}

// Set sets the usage of a queue.
func (w *Writer) Set(queue string, usage Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted == nil {
		w.wanted = map[string]Usage{}
	}
	w.wanted[queue] = usage
}

// Forget forgets a queue that is gone.
func (w *Writer) Forget(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, queue)
}

// Run writes until ctx ends: each queue once in an interval at most, and one queue at a time.
func (w *Writer) Run(ctx context.Context) { Repeat(ctx, "usage", w.Write) }

// Repeat writes something of queues until ctx ends: once in an interval, and after a failure less often. What names it in the
// log.
func Repeat(ctx context.Context, what string, write func(context.Context) error) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := interval
		if err := write(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to write to a queue, kubectl get queue shows an older state", "what", what)
			next = retry
		}
		timer.Reset(next)
	}
}

// Write writes what the annotations of queues do not say yet. A queue that the API server refuses to change does not keep
// others from being written. It ends at any other error, which the next queue would meet, too.
func (w *Writer) Write(ctx context.Context) error {
	var refused error
	for queue, annotations := range w.outdated() {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		if err != nil {
			return err
		}
		err = w.Patch(ctx, queue, patch)
		if err == nil || apierrors.IsNotFound(err) {
			continue
		}
		err = fmt.Errorf("queue %s: %w", queue, err)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			return err
		}
		refused = err
	}
	return refused
}

// outdated returns the annotations to be written, nil for those to be removed. It compares with what the API server
// has, so that a new leader writes only what has changed, and nobody can edit the annotations for long.
func (w *Writer) outdated() map[string]map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	outdated := map[string]map[string]any{}
	for queue, usage := range w.wanted {
		annotations, found := w.Annotations(queue)
		if !found {
			continue
		}
		for _, wanted := range [...]struct{ key, value string }{
			{schedulingv1beta1.DeviceUsageAnnotation, usage.Devices}, {schedulingv1beta1.CardUsageAnnotation, usage.Cards},
		} {
			if annotations[wanted.key] == wanted.value {
				continue
			}
			if outdated[queue] == nil {
				outdated[queue] = map[string]any{}
			}
			outdated[queue][wanted.key] = nil
			if wanted.value != "" {
				outdated[queue][wanted.key] = wanted.value
			}
		}
	}
	return outdated
}
