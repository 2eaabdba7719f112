// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/queueschema"
)

// errNotServed stops a write that would make the API server drop spec.dra.
var errNotServed = errors.New("the API server does not serve spec.dra, or nobody knows whether it does")

// write writes annotations and restores quotas until the work queue is shut down.
func (c *Cache) write(ctx context.Context) {
	for {
		name, shutdown := c.work.Get()
		if shutdown {
			return
		}
		c.writeQueue(ctx, name)
		c.work.Done(name)
	}
}

// writeQueue writes the pending changes of one queue. After a failure, it retries later.
func (c *Cache) writeQueue(ctx context.Context, name string) {
	err := c.sync(ctx, name)
	switch {
	case err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil:
		c.noteWrite(name, nil)
		c.work.Forget(name)
		return
	case apierrors.IsConflict(err) || errors.Is(err, errNotServed):
		klog.V(3).InfoS("The last valid quota of a queue is not written yet", "queue", name, "reason", err.Error())
	default:
		klog.ErrorS(err, "Failed to write the last valid quota of a queue", "queue", name)
		c.noteWrite(name, err)
	}
	c.work.AddRateLimited(name)
}

// noteWrite notes the result of a write for the next session to report.
func (c *Cache) noteWrite(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, found := c.known[name]; found {
		k.writeErr = err
	}
}

// sync restores a lost spec.dra of a queue, or updates the annotation of the queue.
func (c *Cache) sync(ctx context.Context, name string) error {
	object, err := c.queues.Get(name)
	if err != nil {
		return nil
	}
	switch dra, text := c.due(object); {
	case dra != nil:
		return c.restore(ctx, object, dra)
	case text != nil:
		return c.annotate(ctx, object, *text)
	default:
		return nil
	}
}

// due returns the lost spec.dra to restore, or the text that the annotation must have. It returns nothing until a session has read this
// version of the queue.
func (c *Cache) due(object *schedulingv1beta1.Queue) (lostDRA *schedulingv1beta1.DRAQuota, text *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, found := c.known[object.Name]
	switch {
	case !found || k.uid != object.UID || !sameQuotas(k.object, object):
	case k.absence == nil && k.devicesErr == nil && !k.upToDate():
		return nil, ptr.To(k.text)
	case k.absence != nil && k.absence.verdict == lost && c.schema.servesSince(k.absence.since):
		return k.last.DRA, nil
	}
	return nil, nil
}

// annotate writes the last valid quotas to the annotation of a queue. If they are empty, it removes the annotation.
//
// Under a CRD without spec.dra, any write of a queue makes the API server drop the field permanently. If the queue has the field,
// the write therefore includes an empty one. This changes nothing, but an API server that does not know the field refuses it by
// strict field validation. Otherwise, a probe comes first, because the field may only be hidden.
func (c *Cache) annotate(ctx context.Context, object *schedulingv1beta1.Queue, text string) error {
	annotation := map[string]*string{schedulingv1beta1.LastValidQuotaAnnotation: nil}
	if text != "" {
		annotation[schedulingv1beta1.LastValidQuotaAnnotation] = &text
	}
	body := map[string]any{"metadata": map[string]any{"resourceVersion": object.ResourceVersion, "annotations": annotation}}
	if object.Spec.DRA != nil {
		body["spec"] = map[string]any{"dra": struct{}{}}
	} else if !c.probe(ctx) {
		return errNotServed
	}
	return c.patch(ctx, object.Name, body)
}

// PatchMetadata writes a merge patch of the metadata of a queue, unless it would make the API server drop spec.dra: see annotate.
func (c *Cache) PatchMetadata(ctx context.Context, queue string, patch []byte) error {
	body := map[string]any{}
	if err := json.Unmarshal(patch, &body); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	object, err := c.queues.Get(queue)
	if err != nil {
		return err
	}
	c.mu.Lock()
	serves := c.schema.serves()
	c.mu.Unlock()
	switch {
	case object.Spec.DRA != nil:
		body["spec"] = map[string]any{"dra": struct{}{}}
	case !serves:
		return errNotServed
	}
	return c.patch(ctx, queue, body)
}

// restore restores the lost spec.dra of a queue, unless the queue has one again.
func (c *Cache) restore(ctx context.Context, read *schedulingv1beta1.Queue, dra *schedulingv1beta1.DRAQuota) error {
	now, err := c.client.SchedulingV1beta1().Queues().Get(ctx, read.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	if now.UID != read.UID || now.Spec.DRA != nil {
		return nil // another queue, or spec.dra was only hidden
	}
	err = c.patch(ctx, now.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": now.ResourceVersion},
		"spec":     map[string]any{"dra": dra},
	})
	if err != nil {
		return err
	}
	klog.InfoS("Restored spec.dra of a queue, which was lost while the Queue CRD in the cluster did not have the field", "queue", now.Name)
	report.QuotaRestored(c.recorder, now)
	return nil
}

// patch writes parts of a queue. An update would drop fields that this version does not know.
func (c *Cache) patch(ctx context.Context, name string, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	_, err = c.client.SchedulingV1beta1().Queues().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsInvalid(err) && strings.Contains(err.Error(), queueschema.UnknownDRA) {
		c.ask()
		return errNotServed
	}
	return err
}
