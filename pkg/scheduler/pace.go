// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// restShare is how many times as long as a session the scheduler rests at least, so that it works for a quarter of the time if something always comes. What
	// the session waits for the API server at its end is not work.
	restShare = 3
	// gather is the time for what comes together, and for the scheduler's cache to read it.
	gather = 10 * time.Millisecond
	// quietPeriods and quietMost are for how long no session begins while nobody needs one. The next one does what nothing announces, such as to show that a
	// node is gone.
	quietPeriods, quietMost = 10, 10 * time.Second
	// sessionsAfterNews is how many sessions follow news whatever they find: the first one may begin before the scheduler's cache has read the news. After a
	// start, the cache reads everything.
	sessionsAfterNews, sessionsAfterStart = 2, 30
)

// pace decides when sessions begin: a period after the last one has ended, or earlier if a pod can be placed, or has left a node, meanwhile. They begin less
// often while no pod and no job waits, no pod changes, and nobody asks.
type pace struct {
	period time.Duration
	// schedulers are the names of the schedulers whose pods this one places.
	schedulers []string
	// worked is how long the last session took without its end.
	worked time.Duration
	// news has an entry if something has come since the last session began.
	news chan struct{}
	// due is how many sessions follow the last news, or the last change of a pod. Waits says that something waited in the last session, and asked reports
	// whether somebody wants to know what a session knows.
	due   atomic.Int32
	waits bool
	asked func() bool
}

func newPace(period time.Duration, schedulers []string) *pace {
	p := &pace{period: period, schedulers: schedulers, news: make(chan struct{}, 1), asked: func() bool { return false }}
	p.due.Store(sessionsAfterStart)
	return p
}

// rest returns when the next session is due, or when ctx ends.
func (p *pace) rest(ctx context.Context) {
	for rested := time.Duration(0); rested < min(quietPeriods*p.period, quietMost); rested += p.period {
		if p.restPeriod(ctx) || p.waits || p.asked() || p.due.Load() > 0 {
			break
		}
	}
	select {
	case <-p.news: // the session sees this, too
	default:
	}
	if due := p.due.Load(); due > 0 {
		p.due.CompareAndSwap(due, due-1)
	}
}

// restPeriod rests for a period. It returns true if it ends early, because of news or of ctx.
func (p *pace) restPeriod(ctx context.Context) (early bool) {
	least := min(restShare*p.worked, p.period)
	if !sleep(ctx, least) {
		return true
	}
	latest := time.NewTimer(p.period - least)
	defer latest.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-latest.C:
		return false
	case <-p.news:
		sleep(ctx, min(gather, p.period-least))
		return true
	}
}

// waits reports whether a job has yet to be let in, or some pod has yet to start, or to end.
func waits(jobs map[api.JobID]*api.JobInfo) bool {
	for _, job := range jobs {
		if job.PodGroup.Status.Phase == scheduling.PodGroupPending {
			return true
		}
		for status, tasks := range job.TaskStatusIndex {
			if len(tasks) > 0 && status != api.Running && status != api.Succeeded && status != api.Failed {
				return true
			}
		}
	}
	return false
}

func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// follow follows the pods of an informer.
func (p *pace) follow(pods toolscache.SharedInformer) error {
	_, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { p.tell(nil, object) }, UpdateFunc: p.tell, DeleteFunc: func(object any) { p.tell(object, nil) },
	})
	return err
}

func (p *pace) tell(before, after any) {
	old, _ := before.(*corev1.Pod)
	pod, _ := after.(*corev1.Pod)
	p.changed()
	if p.placeable(pod) && !p.placeable(old) || occupies(old) && !occupies(pod) {
		p.announce()
	}
}

// changed asks for sessions in the next periods.
func (p *pace) changed() {
	if p.due.Load() < sessionsAfterNews {
		p.due.Store(sessionsAfterNews)
	}
}

// announce asks for a session soon.
func (p *pace) announce() {
	p.changed()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// placeable reports whether a pod has all that it needs before it gets a node. Volcano's controllers name its PodGroup when this exists. It does not read the
// name of the node: sessions write there at the same time.
func (p *pace) placeable(pod *corev1.Pod) bool {
	return pod != nil && !dra.Bound(pod) && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		slices.Contains(p.schedulers, pod.Spec.SchedulerName) && pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] != "" && dra.ClaimsNamed(pod)
}

// occupies reports whether a pod has resources of a node.
func occupies(pod *corev1.Pod) bool {
	return pod != nil && dra.Bound(pod) && !allocation.Finished(pod)
}
