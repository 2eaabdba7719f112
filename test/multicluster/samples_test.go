// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

const (
	// sampleEvery is the time between two lists. Shorter excesses may be missed.
	sampleEvery = 100 * time.Millisecond
	// clock is the format of times in reports.
	clock = "15:04:05.000"
)

// alive has the pods of a namespace that have not ended, by UID. Pods that are being deleted run until they are gone.
type alive map[types.UID]*corev1.Pod

// listing is the pods of one member at a moment between two times.
type listing struct {
	asked, answered time.Time
	pods            map[string]alive
}

// sighting is the pods in all members at one moment between two times.
type sighting struct {
	from, until time.Time
	pods        alive
}

// samples has sightings of the pods in two members. It lists the members in turn. A pod that a member had both before and after the
// list of the other member was also there in between. Two pods are therefore seen together only if they existed at the same time.
type samples struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu        sync.Mutex
	sightings map[string][]sighting
	broken    error
}

// samplePods samples the pods of two members until end is called.
func samplePods(members ...kubernetes.Interface) *samples {
	ctx, cancel := context.WithCancel(context.Background())
	s := &samples{stop: cancel, sightings: map[string][]sighting{}}
	s.done.Go(func() {
		step := time.NewTicker(sampleEvery)
		defer step.Stop()
		var before, between listing
		for i := 0; ; i++ {
			after, err := list(ctx, members[i%len(members)])
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.fail(err)
				return
			}
			after.share(before)
			s.add(before, between, after)
			before, between = between, after
			select {
			case <-ctx.Done():
				return
			case <-step.C:
			}
		}
	})
	return s
}

// list returns the pods of a member that have not ended.
func list(ctx context.Context, member kubernetes.Interface) (listing, error) {
	l := listing{asked: time.Now(), pods: map[string]alive{}}
	pods, err := member.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return l, err
	}
	l.answered = time.Now()
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		pod.ManagedFields = nil
		if l.pods[pod.Namespace] == nil {
			l.pods[pod.Namespace] = alive{}
		}
		l.pods[pod.Namespace][pod.UID] = pod
	}
	return l, nil
}

// share replaces unchanged pods by the ones in before, to keep each only once.
func (l listing) share(before listing) {
	for namespace, pods := range l.pods {
		for uid, pod := range pods {
			if was := before.pods[namespace][uid]; was != nil && was.ResourceVersion == pod.ResourceVersion {
				pods[uid] = was
			}
		}
	}
}

// add adds the sighting of one list between two lists of the other member.
func (s *samples) add(before, between, after listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for namespace, pods := range between.pods {
		now := sighting{between.asked, between.answered, maps.Clone(pods)}
		for uid, pod := range after.pods[namespace] {
			if before.pods[namespace][uid] != nil {
				now.pods[uid] = pod
			}
		}
		seen := s.sightings[namespace]
		if len(seen) > 0 && maps.Equal(now.pods, seen[len(seen)-1].pods) {
			now.pods = seen[len(seen)-1].pods // kept only once
		}
		s.sightings[namespace] = append(seen, now)
	}
}

func (s *samples) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = errors.Join(s.broken, err)
}

func (s *samples) of(namespace string) ([]sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sightings[namespace]), s.broken
}

// end ends the sampling.
func (s *samples) end() {
	s.stop()
	s.done.Wait()
}

// raise is an increase of the released amount, with the limit at that time.
type raise struct {
	seen  time.Time
	limit int64
}

// skew is the maximum delay of the watch of Karmada's API server after a list.
const skew = 3 * time.Second

// exceeded returns the moments at which a queue ran more than it might hold. All running pods were released before, and at the last
// release, all of them were charged. They must therefore fit the limit at that time. A limit that was lowered later does not matter.
func (r *replay) exceeded(sightings []sighting) []string {
	var moments []string
	last := map[string]bool{}
	for _, s := range sightings {
		now := map[string]bool{}
		for queue, sum := range r.running(s.pods) {
			for dimension, n := range sum {
				if limit, known := r.limitAt(&s, queue, dimension); known && n > limit {
					now[queue+dimension] = true
					if !last[queue+dimension] { // the same pods may be seen again
						moments = append(moments, fmt.Sprintf("%s: %d of %s run in queue %s, which may hold %d:\n%s",
							s.from.Format(clock), n, dimension, queue, limit, r.scene(&s, queue)))
					}
				}
			}
		}
		last = now
	}
	return moments
}

// charge adds an amount to the sums of a queue and of the queues above it.
func (r *replay) charge(sums map[string]tally, queue string, amount tally) {
	for depth := 0; queue != "" && depth < 10; depth++ {
		if sums[queue] == nil {
			sums[queue] = tally{}
		}
		sums[queue].add(amount, 1)
		above := r.queues[queue]
		if above == nil {
			break
		}
		queue = above.Spec.Parent
	}
}

// running returns the amounts that pods use of each queue.
func (r *replay) running(pods alive) map[string]tally {
	sums := map[string]tally{}
	for _, pod := range pods {
		r.charge(sums, r.queueOfPod(pod), r.pod(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}))
	}
	return sums
}

// queueOfPod returns the queue that a pod names. If other queues have released its workload, it returns the first of them: the charge
// does not move with the name.
func (r *replay) queueOfPod(pod *corev1.Pod) string {
	named := pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey]
	if released := r.releasedBy[pod.Labels[workloadLabel]]; len(released) > 0 && !slices.Contains(released, named) {
		return released[0]
	}
	return named
}

// limitAt returns the highest limit at the last release of a queue before pods were seen. Releases that were delivered shortly
// afterwards may have happened before.
func (r *replay) limitAt(s *sighting, queue, dimension string) (int64, bool) {
	limit, known := int64(0), false
	for _, raise := range r.raises[queue][dimension] {
		switch {
		case !raise.seen.After(s.from):
			limit, known = raise.limit, true
		case !raise.seen.After(s.until.Add(skew)):
			limit, known = max(limit, raise.limit), true
		}
	}
	return limit, known
}

// scene describes the pods of a queue and the queues below it, and the last releases.
func (r *replay) scene(s *sighting, queue string) string {
	var text []string
	for _, pod := range s.pods {
		charged := map[string]tally{}
		if r.charge(charged, r.queueOfPod(pod), nil); charged[queue] == nil {
			continue
		}
		deleted := ""
		if pod.DeletionTimestamp != nil {
			deleted = ", deleted, until " + pod.DeletionTimestamp.Format(clock)
		}
		text = append(text, fmt.Sprintf("  pod %s of queue %s, created %s, %s on %q%s",
			pod.Name, r.queueOfPod(pod), pod.CreationTimestamp.Format(clock), pod.Status.Phase, pod.Spec.NodeName, deleted))
	}
	slices.Sort(text)
	before, story := fmt.Sprint(nil), []string{}
	for _, e := range r.log {
		if now := fmt.Sprint(e.inUse[queue]); now != before && !e.seen.After(s.until.Add(skew)) {
			before, story = now, append(story, "  "+e.String())
		}
	}
	return strings.Join(append(text, story[max(0, len(story)-10):]...), "\n")
}
