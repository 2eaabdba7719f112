// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/conflict"
	"github.com/devicequota/devicequota/pkg/dra"
)

// Writer writes allocations and reservations to the API server. It is safe for concurrent use.
type Writer struct {
	kube    kubernetes.Interface
	reader  *Reader
	pending *Pending
	clock   clock.PassiveClock
	// writing lets only one pod at a time write a claim. Otherwise, pods of a gang that share a claim would bind concurrently and conflict.
	writing keymutex.KeyMutex
}

// stripes is the number of claims that can be written concurrently, if the hashes of their UIDs differ.
const stripes = 256

// NewWriter returns a writer for pending allocations.
func NewWriter(kube kubernetes.Interface, reader *Reader, pending *Pending, clock clock.PassiveClock) *Writer {
	return &Writer{kube: kube, reader: reader, pending: pending, clock: clock, writing: keymutex.NewHashed(stripes)}
}

// Reserve reserves claims for a pod, and writes allocations that the API server does not have yet. With an allocation, it writes queue,
// the text of a chargerecord.QueueAnnotation. Every claim must have an allocation. A claim gives up devices that another claim got first.
// Reserve returns the claims in the state of the API server. After an error, no claim is reserved for the pod, and allocations that no
// other pod needs are no longer pending.
func (w *Writer) Reserve(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim, queue string) ([]*resourceapi.ResourceClaim, error) {
	for _, claim := range claims {
		w.pending.begin(claim.UID, pod.UID)
	}
	contested, err := w.conflict(ctx, pod, claims)
	claims = slices.Clone(claims)
	reserved := 0
	for ; err == nil && reserved < len(claims); reserved++ {
		var written *resourceapi.ResourceClaim
		if written, err = w.reserveOne(ctx, pod, claims[reserved], queue); err != nil {
			break
		}
		claims[reserved] = written // an extended claim now has its name and UID
	}
	if err == nil {
		// Another scheduler may have written an allocation of the same devices in the meantime.
		contested, err = w.conflict(ctx, pod, claims)
	}
	if err == nil {
		return claims, nil
	}
	w.Release(ctx, pod, claims[:reserved])
	for _, rest := range claims[reserved:] {
		w.pending.failed(rest.UID, pod.UID)
	}
	if contested != nil {
		w.Deallocate(ctx, pod, contested)
	}
	return nil, err
}

// conflict returns a claim that must give up its devices to another claim. The error describes the conflict.
func (w *Writer) conflict(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	settled := Settled(pod, func(namespace, name string) (*corev1.Pod, error) {
		return w.kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	for _, claim := range claims {
		if conflict := w.reader.ConflictOf(claim, settled); conflict != nil {
			return claim, fmt.Errorf("ResourceClaim %s/%s gives up its devices: %s", claim.Namespace, claim.Name, conflict)
		}
	}
	return nil, nil
}

// reserveOne reserves a claim for a pod. No other pod writes the claim until the reader has the result.
func (w *Writer) reserveOne(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim, queue string) (*resourceapi.ResourceClaim, error) {
	if dra.InMemory(claim) {
		return w.reserveExtended(ctx, pod, claim, queue)
	}
	w.writing.LockKey(string(claim.UID))
	defer func() { _ = w.writing.UnlockKey(string(claim.UID)) }() // a hashed key mutex returns no error
	written, err := w.reserve(ctx, pod, claim, queue)
	if err != nil {
		return nil, err
	}
	w.assume(written)
	w.pending.succeeded(claim.UID)
	return written, nil
}

func (w *Writer) reserve(ctx context.Context, pod *corev1.Pod, wanted *resourceapi.ResourceClaim, queue string) (*resourceapi.ResourceClaim, error) {
	var written *resourceapi.ResourceClaim
	read := w.cached
	err := resolve(ctx, "reserve ResourceClaim "+klog.KObj(wanted).String(), func(again bool) error {
		claim, err := read(ctx, wanted)
		if err != nil {
			return uncertainRead(err, again)
		}
		read = w.latest
		before := claim.DeepCopy()
		switch {
		case claim.UID != wanted.UID || claim.DeletionTimestamp != nil:
			return fmt.Errorf("it was deleted in the meantime")
		case claim.Status.Allocation == nil && !w.pending.mayWrite(wanted, pod.UID):
			return fmt.Errorf("its devices were released in the meantime")
		case claim.Status.Allocation == nil:
			if claim, err = w.prepare(ctx, claim, queue); err != nil {
				return uncertain(err)
			}
			before = claim.DeepCopy()
			claim.Status.Allocation = stamped(wanted.Status.Allocation, w.clock.Now())
		case !apiequality.Semantic.DeepEqual(claim.Status.Allocation.Devices.Results, wanted.Status.Allocation.Devices.Results):
			return fmt.Errorf("it was allocated other devices in the meantime")
		}
		switch reserved := resourceclaim.IsReservedForPod(pod, claim); {
		case reserved && again && before.Status.Allocation != nil:
			written = claim // the earlier write was carried out
			return nil
		case !reserved:
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		}
		written, err = w.patch(ctx, before, claim, "status")
		return uncertain(err)
	})
	if err != nil {
		return nil, fmt.Errorf("reserve ResourceClaim %s/%s for pod %s: %w", wanted.Namespace, wanted.Name, pod.Name, err)
	}
	return written, nil
}

// assume lets the reader return a claim in the state that the API server has answered.
func (w *Writer) assume(claim *resourceapi.ResourceClaim) {
	if err := w.reader.manager.ResourceClaims().AssumeClaimAfterAPICall(claim); err != nil {
		// The informer has a newer version, or the claim is deleted. Both supersede this one.
		klog.V(5).InfoS("Claim not assumed", "claim", klog.KObj(claim), "reason", err.Error())
	}
}

// cached returns a copy of the claim from the reader, which usually saves an API call.
func (w *Writer) cached(_ context.Context, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	claim, err := w.reader.Claim(wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, err
	}
	return claim.DeepCopy(), nil
}

// latest returns the claim as the API server has it. The reader returns it from now on, with an allocation that the watch has not reported yet.
func (w *Writer) latest(ctx context.Context, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	claim, err := w.get(ctx, wanted)
	if err != nil {
		return nil, err
	}
	w.assume(claim)
	return claim.DeepCopy(), nil
}

func (w *Writer) get(ctx context.Context, wanted *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	return w.reader.api.ResourceV1().ResourceClaims(wanted.Namespace).Get(ctx, wanted.Name, metav1.GetOptions{})
}

// prepare adds the metadata of an allocated claim: the finalizer, which prevents its deletion, and the record of the charged queue.
func (w *Writer) prepare(ctx context.Context, claim *resourceapi.ResourceClaim, queue string) (*resourceapi.ResourceClaim, error) {
	finalized := slices.Contains(claim.Finalizers, resourceapi.Finalizer)
	if finalized && claim.Annotations[chargerecord.QueueAnnotation] == queue {
		return claim, nil
	}
	before := claim.DeepCopy()
	if !finalized {
		claim.Finalizers = append(claim.Finalizers, resourceapi.Finalizer)
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, chargerecord.QueueAnnotation, queue)
	return w.patch(ctx, before, claim)
}

// Release removes the reservations of a pod that was not bound. It also deallocates claims created for the pod, so the pod can get devices of
// another node. It deletes the pod's extended claim, even if claims contains the claim in memory from which it was created. Other claims stay
// allocated. A pod that was bound in the meantime keeps its claims, because the answer to its binding may be lost. Release logs errors.
func (w *Writer) Release(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim) {
	for _, reserved := range claims {
		if dra.InMemory(reserved) {
			if reserved = w.reader.ExtendedClaim(pod); reserved == nil {
				continue
			}
		}
		if resourceclaim.IsForPod(pod, reserved) == nil {
			w.Deallocate(ctx, pod, reserved)
			continue
		}
		err := conflict.Retry(func() error {
			claim, err := w.get(ctx, reserved)
			if err != nil || claim.UID != reserved.UID || !resourceclaim.IsReservedForPod(pod, claim) {
				return err
			}
			if bound, err := w.bound(ctx, pod); err != nil || bound {
				return err
			}
			before := claim.DeepCopy()
			claim.Status.ReservedFor = withoutPod(claim.Status.ReservedFor, pod)
			_, err = w.patch(ctx, before, claim, "status")
			return err
		})
		if err != nil {
			klog.ErrorS(err, "Failed to remove the reservation of a claim", "claim", klog.KObj(reserved), "pod", klog.KObj(pod))
		}
	}
}

func withoutPod(users []resourceapi.ResourceClaimConsumerReference, pod *corev1.Pod) []resourceapi.ResourceClaimConsumerReference {
	return slices.DeleteFunc(users, func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod.UID })
}

// bound reports whether the pod has a node in the API server.
func (w *Writer) bound(ctx context.Context, pod *corev1.Pod) (bool, error) {
	now, err := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && now.UID == pod.UID && now.Spec.NodeName != "", err
}

// Deallocate deallocates a claim of an unbound pod, or one that was reserved for no pod if pod is nil. It deletes an extended claim, because the pod may need
// another one on another node. It does nothing if another pod uses the claim or the pod was bound in the meantime. It logs errors.
func (w *Writer) Deallocate(ctx context.Context, pod *corev1.Pod, allocated *resourceapi.ResourceClaim) {
	if pod != nil && dra.IsExtended(allocated) && resourceclaim.IsForPod(pod, allocated) == nil {
		w.deleteExtended(ctx, pod, allocated)
		return
	}
	err := conflict.Retry(func() error {
		claim, err := w.get(ctx, allocated)
		if err != nil || claim.UID != allocated.UID || claim.Status.Allocation == nil {
			return err
		}
		before := claim.DeepCopy()
		if pod != nil {
			now, err := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil || now.UID != pod.UID || now.Spec.NodeName != "" {
				return err
			}
			claim.Status.ReservedFor = withoutPod(claim.Status.ReservedFor, pod)
		}
		if len(claim.Status.ReservedFor) > 0 {
			return nil
		}
		claim.Status = resourceapi.ResourceClaimStatus{}
		klog.V(3).InfoS("Deallocating a claim whose devices no pod uses", "claim", klog.KObj(allocated), "pod", klog.KObj(pod))
		written, err := w.patch(ctx, before, claim, "status")
		if err == nil {
			w.assume(written) // a session that begins before the watch reports it must not place the pod with these devices
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.ErrorS(err, "Failed to deallocate a claim", "claim", klog.KObj(allocated), "pod", klog.KObj(pod))
	}
}
