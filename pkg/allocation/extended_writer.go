// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/conflict"
	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// watchTimeout bounds the time until the reader has a new claim.
	watchTimeout = time.Minute
	watchPeriod  = 10 * time.Millisecond
)

// reserveExtended creates an extended claim from a claim in memory, and writes its name to the status of its pod. The pending allocation
// ends when the reader has the claim, so its devices are never free in between. On error, reserveExtended deletes the claim again.
func (w *Writer) reserveExtended(ctx context.Context, pod *corev1.Pod, wanted *resourceapi.ResourceClaim, queue string) (*resourceapi.ResourceClaim, error) {
	created, err := w.create(ctx, pod, wanted, queue)
	if err != nil {
		return nil, fmt.Errorf("create the ResourceClaim for extended resources of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	written, err := w.allocate(ctx, pod, created, stamped(wanted.Status.Allocation, w.clock.Now()))
	if err == nil {
		err = w.await(ctx, written)
	}
	if err == nil {
		err = w.setExtendedStatus(ctx, pod, "", &corev1.PodExtendedResourceClaimStatus{
			RequestMappings: dra.RequestMappings(pod, written), ResourceClaimName: written.Name,
		})
	}
	if err != nil {
		w.deleteExtended(ctx, pod, created)
		return nil, fmt.Errorf("reserve ResourceClaim %s/%s for extended resources of pod %s: %w", created.Namespace, created.Name, pod.Name, err)
	}
	w.pending.succeeded(wanted.UID)
	return written, nil
}

// create creates the claim with the finalizer and the record of the charged queue.
func (w *Writer) create(ctx context.Context, pod *corev1.Pod, wanted *resourceapi.ResourceClaim, queue string) (*resourceapi.ResourceClaim, error) {
	if !w.pending.mayWrite(wanted, pod.UID) {
		return nil, errors.New("its devices were released in the meantime")
	}
	if other := w.reader.ExtendedClaim(pod); other != nil && other.DeletionTimestamp == nil {
		return nil, fmt.Errorf("the pod has ResourceClaim %s already: wait until it is deleted", other.Name)
	}
	claim := wanted.DeepCopy()
	claim.Name, claim.UID, claim.Status = "", "", resourceapi.ResourceClaimStatus{}
	claim.Finalizers = []string{resourceapi.Finalizer}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, chargerecord.QueueAnnotation, queue)
	return w.reader.api.ResourceV1().ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (w *Writer) allocate(ctx context.Context, pod *corev1.Pod, created *resourceapi.ResourceClaim, allocation *resourceapi.AllocationResult) (*resourceapi.ResourceClaim, error) {
	var written *resourceapi.ResourceClaim
	claim := created.DeepCopy()
	err := resolve(ctx, "allocate ResourceClaim "+klog.KObj(created).String(), func(again bool) error {
		if claim == nil {
			var err error
			if claim, err = w.get(ctx, created); err != nil {
				claim = nil
				return uncertainRead(err, again)
			}
		}
		if claim.UID != created.UID || claim.DeletionTimestamp != nil {
			return errors.New("it was deleted in the meantime")
		}
		before := claim.DeepCopy()
		claim.Status = resourceapi.ResourceClaimStatus{Allocation: allocation, ReservedFor: []resourceapi.ResourceClaimConsumerReference{
			{Resource: "pods", Name: pod.Name, UID: pod.UID},
		}}
		var err error
		written, err = w.patch(ctx, before, claim, "status")
		claim = nil
		return uncertain(err)
	})
	return written, err
}

// await waits until the reader has a new claim with its allocation. The reader's cache accepts an allocation only for a claim that the
// watch has delivered.
func (w *Writer) await(ctx context.Context, written *resourceapi.ResourceClaim) error {
	err := wait.PollUntilContextTimeout(ctx, watchPeriod, watchTimeout, true, func(context.Context) (bool, error) {
		err := w.reader.manager.ResourceClaims().AssumeClaimAfterAPICall(written)
		if errors.Is(err, assumecache.ErrNotFound) {
			return false, nil
		}
		return true, nil // any other error means that the watch has delivered a newer version
	})
	if err != nil {
		return fmt.Errorf("the watch of ResourceClaims has not delivered it: %w", err)
	}
	return nil
}

// setExtendedStatus writes pod.status.extendedResourceClaimStatus, which may be nil. It does not change the given pod. If version is
// not empty, the pod must still have this resource version.
func (w *Writer) setExtendedStatus(ctx context.Context, pod *corev1.Pod, version string, status *corev1.PodExtendedResourceClaimStatus) error {
	// With the UID, the API server refuses the patch if another pod with the same name has replaced this one.
	metadata := map[string]any{"uid": pod.UID}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{"extendedResourceClaimStatus": status}})
	if err != nil {
		return err
	}
	patched, err := w.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case err != nil:
		return fmt.Errorf("write extendedResourceClaimStatus of the pod: %w", err)
	case status != nil && patched.Status.ExtendedResourceClaimStatus == nil:
		return errors.New("the API server does not store extendedResourceClaimStatus of pods: enable its feature gate DRAExtendedResource, or the pod would run without devices")
	}
	return nil
}

// ReleaseFinished deletes the extended claim of a finished pod. The controller of Kubernetes 1.35 also does this. The controller of
// 1.34 leaves the devices allocated until the pod is deleted.
func (w *Writer) ReleaseFinished(ctx context.Context, pod *corev1.Pod) error {
	if !Finished(pod) {
		return nil
	}
	return w.ReleaseGone(ctx, pod)
}

// ReleaseGone deletes the extended claim of a deleted pod. Kubernetes' controller also does this. But the controller of 1.34 looks only
// when the claim changes. If it does not know yet that the pod is gone, it never looks again.
func (w *Writer) ReleaseGone(ctx context.Context, pod *corev1.Pod) error {
	claim := w.reader.ExtendedClaim(pod)
	if claim == nil {
		return nil
	}
	return w.remove(ctx, pod, claim)
}

// Finished reports whether a pod's containers have ended for good.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// deleteExtended deletes an extended claim and its entry in the status of its pod. It does nothing if another pod uses the claim or
// the pod was bound in the meantime. It logs errors, because a later session finds the claim by its owner.
func (w *Writer) deleteExtended(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
	if dra.InMemory(claim) {
		return
	}
	now, err := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	here := err == nil && now.UID == pod.UID
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case here && now.Spec.NodeName != "" && !Finished(now):
		return
	case here && now.Status.ExtendedResourceClaimStatus != nil && now.Status.ExtendedResourceClaimStatus.ResourceClaimName == claim.Name:
		// Write the status first, because a waiting pod must never name a deleted claim. If the pod was bound since it was
		// read, its version differs, and it keeps both.
		err = w.setExtendedStatus(ctx, pod, now.ResourceVersion, nil)
	}
	if err == nil {
		klog.V(3).InfoS("Deleting the claim for extended resources of a pod that is not bound", "claim", klog.KObj(claim), "pod", klog.KObj(pod))
		err = w.remove(ctx, pod, claim)
	}
	if err != nil {
		klog.ErrorS(err, "Failed to delete the claim for extended resources of a pod", "claim", klog.KObj(claim), "pod", klog.KObj(pod))
	}
}

// remove deletes an extended claim unless another pod uses it.
func (w *Writer) remove(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim) error {
	err := conflict.Retry(func() error {
		now, err := w.get(ctx, claim)
		if err != nil || now.UID != claim.UID {
			return err
		}
		if dra.UsedByAnother(pod.UID, now) {
			return nil
		}
		if i := slices.Index(now.Finalizers, resourceapi.Finalizer); i >= 0 {
			without := now.DeepCopy()
			without.Finalizers = slices.Delete(without.Finalizers, i, i+1)
			if now, err = w.patch(ctx, now, without); err != nil {
				return err
			}
		}
		return w.reader.api.ResourceV1().ResourceClaims(claim.Namespace).Delete(ctx, claim.Name, *metav1.NewPreconditionDeleteOptions(string(now.UID)))
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
