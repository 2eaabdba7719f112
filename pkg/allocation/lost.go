// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// lost holds claims that were deleted while pods still use their devices. A user who may change a claim can remove its finalizer. The
// devices stay taken and charged until these pods have ended. After a restart, the records of the pods name the claims. lost is safe for
// concurrent use.
type lost struct {
	mu     sync.Mutex
	claims map[types.UID]*resourceapi.ResourceClaim
	// existing finds claims by their UID.
	existing cache.Indexer
	pods     corelisters.PodLister
	versions *versions
}

// byUID is the index of claims by their UID.
const byUID = "uid"

func uidOf(object any) ([]string, error) {
	if claim, ok := object.(*resourceapi.ResourceClaim); ok {
		return []string{string(claim.UID)}, nil
	}
	return nil, nil
}

func (l *lost) handler() cache.ResourceEventHandler {
	return claimHandler(l.exists, l.deleted)
}

// watchPods follows pod events. The records of bound pods name the claims that they use. Ended pods use none.
func (l *lost) watchPods(pods coreinformers.PodInformer) (cache.ResourceEventHandlerRegistration, error) {
	return pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { l.recorded(object.(*corev1.Pod)) },
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.Pod), after.(*corev1.Pod)
			if Finished(is) || was.UID != is.UID {
				l.ended(was.UID)
			}
			if !dra.Bound(was) || was.UID != is.UID {
				l.recorded(is) // its claims may have been deleted before the watch reported the binding
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := readiness.LastState(object).(*corev1.Pod); ok {
				l.ended(pod.UID)
			}
		},
	})
}

// deleted records the deletion of a claim. It looks up the pods under the lock, so ended waits if a pod ends meanwhile.
func (l *lost) deleted(claim *resourceapi.ResourceClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if claim.Status.Allocation == nil {
		return
	}
	kept := *claim
	kept.Status.ReservedFor = slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(user resourceapi.ResourceClaimConsumerReference) bool {
		pod, err := l.pods.Pods(claim.Namespace).Get(user.Name)
		return err != nil || pod.UID != user.UID || !dra.Bound(pod) || Finished(pod)
	})
	if len(kept.Status.ReservedFor) > 0 {
		l.put(&kept)
	}
}

// recorded adds the claims in a pod's record that do not exist.
func (l *lost) recorded(pod *corev1.Pod) {
	claims := chargerecord.ClaimsOf(pod)
	if len(claims) == 0 || !dra.Bound(pod) || Finished(pod) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, claim := range claims {
		if same, err := l.existing.ByIndex(byUID, string(claim.UID)); err != nil || len(same) > 0 {
			continue
		}
		if known := l.claims[claim.UID]; known != nil {
			claim.Status.ReservedFor = append(slices.Clone(known.Status.ReservedFor), claim.Status.ReservedFor...)
		}
		l.put(claim)
	}
}

// exists records that a claim exists. It only seemed lost because of a delayed watch.
func (l *lost) exists(claim *resourceapi.ResourceClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(claim.UID)
}

// ended records that a pod no longer uses devices.
func (l *lost) ended(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, claim := range l.claims {
		left := *claim
		left.Status.ReservedFor = slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod })
		switch len(left.Status.ReservedFor) {
		case len(claim.Status.ReservedFor):
		case 0:
			l.drop(uid)
		default:
			l.claims[uid] = &left
		}
	}
}

func (l *lost) put(claim *resourceapi.ResourceClaim) {
	if l.claims == nil {
		l.claims = map[types.UID]*resourceapi.ResourceClaim{}
	}
	l.claims[claim.UID] = claim
	l.versions.changed(claim.Status.Allocation)
}

func (l *lost) drop(uid types.UID) {
	if claim := l.claims[uid]; claim != nil {
		delete(l.claims, uid)
		l.versions.changed(claim.Status.Allocation)
	}
}

func (l *lost) all() []*resourceapi.ResourceClaim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.claims))
}

func (l *lost) of(pod types.UID) []*resourceapi.ResourceClaim {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*resourceapi.ResourceClaim
	for _, claim := range l.claims {
		if slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod }) {
			all = append(all, claim)
		}
	}
	return all
}
