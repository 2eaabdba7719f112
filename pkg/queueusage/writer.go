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
	// interval is the time between updates of annotations. retry is the time to wait after a failure.
	interval = time.Second
	retry    = 30 * time.Second
)

// Writer writes the usage of queues to their annotations, in the background. It does not use the status of queues, because
// Volcano updates the status with its own type, which drops unknown fields.
type Writer struct {
	// Annotations returns the last known annotations of a queue, or false if the queue does not exist.
	Annotations func(queue string) (map[string]string, bool)
	// Patch applies a JSON merge patch to a queue. It cannot conflict, because only the writer sets these annotations.
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

// Forget forgets a deleted queue.
func (w *Writer) Forget(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wanted, queue)
}

// Run writes until ctx ends. It writes each queue at most once per interval, and one queue at a time.
func (w *Writer) Run(ctx context.Context) { Repeat(ctx, "usage", w.Write) }

// Repeat calls write once per interval until ctx ends, and less often after a failure. what names the written data in the log.
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

// Write updates the annotations of queues that are out of date. If the API server refuses one queue, Write continues with the
// others. It stops at any other error, because the next queue would fail as well.
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

// outdated returns the annotations to write. A nil value removes the annotation. It compares with the state of the API server.
// A new leader therefore writes only changes, and edits by users do not last.
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
