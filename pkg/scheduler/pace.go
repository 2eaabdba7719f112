// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// restShare is how many times as long as a session the scheduler rests at least, so that it works for a quarter of the time if something always comes. What
	// the session waits for the API server at its end is not work.
	restShare = 3
	// gather is the time for what comes together, and for the scheduler's cache to read it.
	gather = 10 * time.Millisecond
)

// pace decides when sessions begin: a period after the last one has ended, or earlier if a pod can be placed, or has left a node, meanwhile.
type pace struct {
	period time.Duration
	// schedulers are the names of the schedulers whose pods this one places.
	schedulers []string
	// worked is how long the last session took without its end.
	worked time.Duration
	// news has an entry if something has come since the last session began.
	news chan struct{}
}

func newPace(period time.Duration, schedulers []string) *pace {
	return &pace{period: period, schedulers: schedulers, news: make(chan struct{}, 1)}
}

// rest returns when the next session is due, or when ctx ends.
func (p *pace) rest(ctx context.Context) {
	least := min(restShare*p.worked, p.period)
	if !sleep(ctx, least) {
		return
	}
	latest := time.NewTimer(p.period - least)
	defer latest.Stop()
	select {
	case <-ctx.Done():
	case <-latest.C:
	case <-p.news:
		sleep(ctx, min(gather, p.period-least))
	}
	select {
	case <-p.news: // the session sees this, too
	default:
	}
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
	if p.placeable(pod) && !p.placeable(old) || occupies(old) && !occupies(pod) {
		p.announce()
	}
}

// announce asks for a session soon.
func (p *pace) announce() {
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
