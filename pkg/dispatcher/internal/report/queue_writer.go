// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	client "github.com/devicequota/devicequota/pkg/client/clientset/versioned/typed/scheduling/v1beta1"
	listers "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

// QueueWriter writes the status and the annotations of queues in the background. On a Karmada control plane, no other component writes them.
type QueueWriter struct {
	queues  client.QueueInterface
	lister  listers.QueueLister
	metrics *Metrics
	// hidesDRA returns an error if the API server may drop spec.dra of a queue with any write. The queue is not written then.
	hidesDRA func(*schedulingv1beta1.Queue) error
	usage    queueusage.Writer
	workers  sync.WaitGroup

	mu     sync.Mutex
	wanted map[string]*queueReport
	// written has the resource version that each status replaced. The lister may still have that version. Only write uses it.
	written map[string]string
}

// StartQueueWriter starts a writer that ends with ctx.
func StartQueueWriter(ctx context.Context, queues client.QueueInterface, lister listers.QueueLister, metrics *Metrics, hidesDRA func(*schedulingv1beta1.Queue) error) *QueueWriter {
	w := newQueueWriter(queues, lister, metrics)
	w.hidesDRA = hidesDRA
	w.workers.Go(func() { w.usage.Run(ctx) })
	w.workers.Go(func() { queueusage.Repeat(ctx, "status", w.write) })
	return w
}

func newQueueWriter(queues client.QueueInterface, lister listers.QueueLister, metrics *Metrics) *QueueWriter {
	w := &QueueWriter{queues: queues, lister: lister, metrics: metrics, hidesDRA: func(*schedulingv1beta1.Queue) error { return nil }, written: map[string]string{}}
	w.usage.Annotations = func(name string) (map[string]string, bool) {
		queue, err := lister.Get(name)
		if err != nil {
			return nil, false
		}
		return queue.Annotations, true
	}
	w.usage.Patch = w.patchUsage
	return w
}

// patchUsage writes annotations of a queue. The patch has an empty spec.dra if the queue has the field. That changes nothing, and an API server that does not
// know the field refuses it.
func (w *QueueWriter) patchUsage(ctx context.Context, name string, patch []byte) error {
	queue, err := w.lister.Get(name)
	if err != nil || w.hidesDRA(queue) != nil {
		return err // what is left out is tried again
	}
	body := map[string]any{}
	if err := json.Unmarshal(patch, &body); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	if queue.Spec.DRA != nil {
		body["spec"] = map[string]any{"dra": struct{}{}}
	}
	if patch, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	_, err = w.queues.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	w.metrics.Patched(PatchQueueUsage, err)
	return err
}

// Shutdown waits until writing has ended. The context of StartQueueWriter must have ended.
func (w *QueueWriter) Shutdown() { w.workers.Wait() }

// set sets the reports of all queues.
func (w *QueueWriter) set(wanted map[string]*queueReport) {
	w.mu.Lock()
	before := w.wanted
	w.wanted = wanted
	w.mu.Unlock()
	for name, report := range wanted {
		w.usage.Set(name, report.columns())
	}
	for name := range before {
		if wanted[name] == nil {
			w.usage.Forget(name)
		}
	}
}

// write writes each changed status. If the API server refuses one queue, the others are still written. Any other error ends it,
// because the next queue would fail, too.
func (w *QueueWriter) write(ctx context.Context) error {
	w.mu.Lock()
	wanted := w.wanted
	w.mu.Unlock()
	for name := range w.written {
		if wanted[name] == nil {
			delete(w.written, name)
		}
	}
	var refused error
	for name, report := range wanted {
		err := w.writeStatus(ctx, name, report)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue // the lister has the current queue next time
		}
		err = fmt.Errorf("queue %s: %w", name, err)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			return err
		}
		refused = err
	}
	return refused
}

// writeStatus writes the status of a queue if it differs from the stored one. A new leader therefore writes only changes, and edits
// by users are reverted. The request always has spec.dra. The API server ignores it, or refuses the request if it does not know the field and would drop it
// from the stored queue.
func (w *QueueWriter) writeStatus(ctx context.Context, name string, report *queueReport) error {
	queue, err := w.lister.Get(name)
	if err != nil {
		return err
	}
	status := report.status(&queue.Status)
	if w.hidesDRA(queue) != nil || equality.Semantic.DeepEqual(status, queue.Status) || w.written[name] == queue.ResourceVersion {
		return nil
	}
	changed := queue.DeepCopy()
	changed.Status = status
	if changed.Spec.DRA == nil {
		changed.Spec.DRA = &schedulingv1beta1.DRAQuota{}
	}
	_, err = w.queues.UpdateStatus(ctx, changed, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	w.metrics.Patched(PatchQueueStatus, err)
	if err == nil {
		w.written[name] = queue.ResourceVersion
	}
	return err
}
