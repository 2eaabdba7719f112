package allocation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/dynamic-resource-allocation/client"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
)

// Writer writes allocations and reservations to the API server. It does so with updates, because
// the client for all versions of the API has no patches.
type Writer struct {
	kube    kubernetes.Interface
	client  *client.Client
	reader  *Reader
	pending *Pending
}

// NewWriter returns a writer of what is pending.
func NewWriter(kube kubernetes.Interface, reader *Reader, pending *Pending) *Writer {
	return &Writer{kube: kube, client: reader.client, reader: reader, pending: pending}
}

// Reserve writes the allocations of claims, each of which must have one by now, as far as the API
// server does not have them, and that the pod uses them. After an error the pod has none of
// them reserved, and none of what it alone needed is pending any more.
func (w *Writer) Reserve(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim) error {
	for _, claim := range claims {
		w.pending.begin(claim.UID, pod.UID)
	}
	for i, claim := range claims {
		written, err := w.reserve(ctx, pod, claim)
		if err != nil {
			w.Release(ctx, pod, claims[:i])
			for _, rest := range claims[i:] {
				w.pending.failed(rest.UID, pod.UID)
			}
			return err
		}
		if err := w.reader.manager.ResourceClaims().AssumeClaimAfterAPICall(written); err != nil {
			// The informer knows of it already, or it is gone; either is news that is newer.
			klog.V(5).InfoS("Claim not assumed", "claim", klog.KObj(claim), "reason", err.Error())
		}
		w.pending.succeeded(written)
	}
	return nil
}

func (w *Writer) reserve(ctx context.Context, pod *corev1.Pod, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	var written *resourceapi.ResourceClaim
	read := w.known
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := read(ctx, wanted)
		read = w.get
		switch {
		case err != nil:
			return err
		case claim.UID != wanted.UID || claim.DeletionTimestamp != nil:
			return fmt.Errorf("it was deleted meanwhile")
		case claim.Status.Allocation == nil && w.pending.Of(wanted.UID) == nil:
			return fmt.Errorf("its devices were given up meanwhile")
		case claim.Status.Allocation == nil:
			if claim, err = w.addFinalizer(ctx, claim); err != nil {
				return err
			}
			claim.Status.Allocation = wanted.Status.Allocation
		case !apiequality.Semantic.DeepEqual(claim.Status.Allocation.Devices.Results, wanted.Status.Allocation.Devices.Results):
			return fmt.Errorf("it was given other devices meanwhile")
		}
		if !resourceclaim.IsReservedForPod(pod, claim) {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		}
		written, err = w.updateStatus(ctx, claim)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reserve ResourceClaim %s/%s for pod %s: %w", wanted.Namespace, wanted.Name, pod.Name, err)
	}
	return written, nil
}

// known returns the claim as it was last read, which mostly saves a call.
func (w *Writer) known(_ context.Context, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	claim, err := w.reader.Claim(wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, err
	}
	return claim.DeepCopy(), nil
}

func (w *Writer) get(ctx context.Context, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	return w.client.ResourceClaims(wanted.Namespace).Get(ctx, wanted.Name, metav1.GetOptions{})
}

// addFinalizer makes sure that a claim is not deleted while it is allocated.
func (w *Writer) addFinalizer(ctx context.Context, claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	if slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
		return claim, nil
	}
	claim.Finalizers = append(claim.Finalizers, resourceapi.Finalizer)
	return w.client.ResourceClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
}

// Release takes back that a pod uses claims, for a pod that is not bound after all. A claim that
// was made for the pod loses its devices, which may be elsewhere the next time. Others stay
// allocated.
func (w *Writer) Release(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim) {
	for _, held := range claims {
		if resourceclaim.IsForPod(pod, held) == nil {
			w.Deallocate(ctx, pod, held)
			continue
		}
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			claim, err := w.get(ctx, held)
			if err != nil || claim.UID != held.UID || !resourceclaim.IsReservedForPod(pod, claim) {
				return err
			}
			claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(r resourceapi.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
			_, err = w.updateStatus(ctx, claim)
			return err
		})
		if err != nil {
			klog.ErrorS(err, "Failed to take back the reservation of a claim", "claim", klog.KObj(held), "pod", klog.KObj(pod))
		}
	}
}

// Deallocate takes the devices of a claim back from a pod that is not bound, unless somebody else
// uses the claim by now or the pod was bound meanwhile.
func (w *Writer) Deallocate(ctx context.Context, pod *corev1.Pod, held *resourceapi.ResourceClaim) {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := w.get(ctx, held)
		if err != nil || claim.UID != held.UID || claim.Status.Allocation == nil {
			return err
		}
		now, err := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || now.UID != pod.UID || now.Spec.NodeName != "" {
			return err
		}
		claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(r resourceapi.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
		if len(claim.Status.ReservedFor) > 0 {
			return nil
		}
		claim.Status = resourceapi.ResourceClaimStatus{}
		klog.V(3).InfoS("Taking devices back that no node can use for their pod", "claim", klog.KObj(held), "pod", klog.KObj(pod))
		_, err = w.updateStatus(ctx, claim)
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.ErrorS(err, "Failed to take back the devices of a claim", "claim", klog.KObj(held), "pod", klog.KObj(pod))
	}
}
