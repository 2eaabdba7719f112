// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// repeated is the time after which an event that is still true is written again, because the API server forgets events.
const repeated = 5 * time.Minute

// recorder writes the events of Volcano's cache. The cache says in each session why a job waits, with a request to the API server each time.
type recorder struct {
	record.EventRecorder
	mu   sync.Mutex
	said map[types.UID]told
}

type told struct {
	message string
	at      time.Time
}

// Eventf implements record.EventRecorder. Volcano's cache gives messages without arguments, which may contain a percent sign.
func (r *recorder) Eventf(object runtime.Object, kind, reason, message string, arguments ...any) {
	group, is := object.(*v1beta1.PodGroup)
	switch {
	case len(arguments) > 0:
		r.EventRecorder.Eventf(object, kind, reason, message, arguments...)
	case !is || reason != string(v1beta1.PodGroupUnschedulableType) || r.news(group.UID, message):
		r.Event(object, kind, reason, message)
	}
}

// news reports whether a job waits for another reason than the last time.
func (r *recorder) news(group types.UID, message string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, now := r.said[group], time.Now()
	if last.message == message && now.Sub(last.at) < repeated {
		return false
	}
	r.said[group] = told{message, now}
	return true
}

// keep forgets jobs that are gone.
func (r *recorder) keep(jobs map[api.JobID]*api.JobInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.said) <= len(jobs) {
		return
	}
	groups := make(map[types.UID]bool, len(jobs))
	for _, job := range jobs {
		groups[job.PgUID] = true
	}
	maps.DeleteFunc(r.said, func(group types.UID, _ told) bool { return !groups[group] })
}
