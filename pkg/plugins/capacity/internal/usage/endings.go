// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// endings notes when pods are deleted and when claims lose their devices, so sessions need not search for them. Handlers of informers
// note endings. Sessions take the endings noted before their snapshot: for later ones, the snapshot still has the holders.
type endings struct {
	mu sync.Mutex
	// on says that usage is recorded.
	on    bool
	noted []ending
}

// ending is the time until which a holder held something.
type ending struct {
	key accounting.Key
	at  time.Time
}

// begin makes handlers note endings.
func (e *endings) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = true
}

// count returns the number of noted endings.
func (e *endings) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.noted)
}

// take returns the first n noted endings, and forgets them.
func (e *endings) take(n int) []ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := slices.Clone(e.noted[:n])
	e.noted = slices.Delete(e.noted, 0, n)
	return taken
}

func (e *endings) note(at time.Time, keys ...accounting.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.on {
		return
	}
	for _, key := range keys {
		e.noted = append(e.noted, ending{key, at})
	}
}

// WatchPods notes when pods are deleted.
func (r *Recorder) WatchPods(pods toolscache.SharedInformer) {
	_, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if pod := before.(*corev1.Pod); pod.UID != after.(*corev1.Pod).UID {
				r.PodDeleted(pod)
			}
		},
		DeleteFunc: func(object any) {
			if pod, is := readiness.LastState(object).(*corev1.Pod); is {
				r.PodDeleted(pod)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch pods, the record of usage learns late that they are deleted")
	}
}

// PodDeleted notes that a pod is gone. Its usage ended with its containers, or now if they have no finish time.
func (r *Recorder) PodDeleted(pod *corev1.Pod) {
	at := finished(pod)
	if at.IsZero() {
		at = r.clock.Now()
	}
	r.endings.note(at, accounting.Key(pod.UID), resourcesOf(pod))
}

// WatchClaims notes when claims lose their devices.
func (r *Recorder) WatchClaims(reader *allocation.Reader) {
	err := reader.WatchClaims(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			claim, now := before.(*resourceapi.ResourceClaim), after.(*resourceapi.ResourceClaim)
			if now.Status.Allocation == nil || now.UID != claim.UID {
				r.claimFreed(claim)
			}
		},
		DeleteFunc: func(object any) {
			if claim, is := readiness.LastState(object).(*resourceapi.ResourceClaim); is {
				r.claimFreed(claim)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch claims, the record of usage learns late that their devices are free")
	}
}

// claimFreed notes that a claim lost its devices, if it had any.
func (r *Recorder) claimFreed(claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation != nil {
		r.endings.note(r.clock.Now(), keyOf(claim))
	}
}
