// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

const (
	// appearedLasts is for how long it is remembered that a claim or claim template has appeared. It is longer than the time after a grant for which
	// anybody asks.
	appearedLasts = 2 * time.Minute
	// maxAppeared bounds what is remembered: users create any number of claims.
	maxAppeared = 100_000
	// maxOfName bounds what is remembered of one name.
	maxOfName = 8
)

// appeared has notes of the claims and claim templates that have appeared lately, whether they are still there or not. A user may replace a claim just before a
// grant, and delete the new one before the next snapshot, when a cluster has got it.
type appeared struct {
	mu sync.Mutex
	at map[claimName][]appearance
	// count is how many there are. Since is when old ones were forgotten.
	count int
	since time.Time
}

// claimName identifies the name of a claim or claim template.
type claimName struct{ namespace, name string }

// appearance is a note, and when its claim or claim template has appeared. An empty note stands for any.
type appearance struct {
	note string
	at   time.Time
}

// handler notes new claims and claim templates, and calls noted then.
func (a *appeared) handler(noted func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if !isInInitialList {
				a.add(object)
				noted()
			}
		},
		UpdateFunc: func(before, after any) {
			if uidOf(before) != uidOf(after) {
				a.add(after)
				noted()
			}
		},
	}
}

func (a *appeared) add(object any) {
	switch object.(type) {
	case *resourceapi.ResourceClaim, *resourceapi.ResourceClaimTemplate:
	default:
		return
	}
	claim, now := object.(metav1.Object), time.Now()
	note := binding.ClaimNote(claim)
	name := claimName{claim.GetNamespace(), binding.NameIn(note)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil || a.count >= maxAppeared || now.Sub(a.since) > appearedLasts {
		a.forget(now)
	}
	if len(a.at[name]) >= maxOfName {
		a.count -= len(a.at[name])
		a.at[name], note = nil, ""
	}
	a.at[name] = append(a.at[name], appearance{note, now})
	a.count++
}

// forget forgets what has appeared long ago, or everything if the rest is too much.
func (a *appeared) forget(now time.Time) {
	before := a.at
	a.at, a.count, a.since = map[claimName][]appearance{}, 0, now
	for name, all := range before {
		all = slices.DeleteFunc(all, func(one appearance) bool { return now.Sub(one.at) > appearedLasts })
		if len(all) > 0 {
			a.at[name] = all
			a.count += len(all)
		}
	}
	if a.count >= maxAppeared {
		a.at, a.count = map[claimName][]appearance{}, 0
	}
}

// others reports whether another claim or claim template than those that are given has taken the place of one of them since a time, and is not there now. Given
// and there are sorted notes.
func (a *appeared) others(namespace string, given, there []string, since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) == 0 {
		return false
	}
	has := func(notes []string, note string) bool { _, is := slices.BinarySearch(notes, note); return is }
	return slices.ContainsFunc(given, func(note string) bool {
		if note == binding.NameIn(note) {
			return false // it is not known what it gave
		}
		return slices.ContainsFunc(a.at[claimName{namespace, binding.NameIn(note)}], func(one appearance) bool {
			return one.at.After(since) && !has(given, one.note) && !has(there, one.note)
		})
	})
}
