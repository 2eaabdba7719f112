// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// soakWait is since when a queue waits for a device that other queues could give, and the numbers of its pods that had started, and of the sessions that had
// run, by then.
type soakWait struct {
	since             time.Time
	started, sessions int
}

// soakHoldings are numbers of devices and pods of a team, or of all teams of an organization.
type soakHoldings struct {
	// holds includes the devices of terminating pods. Keeps excludes them.
	holds, keeps int
	// promised is the number of pods that wait for devices that are kept for them.
	promised int
	// waiting and takeable are numbers of pods outside gangs: pods that wait without a promise, and pods that can be evicted.
	waiting, takeable int
	started           int
}

func (a soakHoldings) plus(b soakHoldings) soakHoldings {
	return soakHoldings{a.holds + b.holds, a.keeps + b.keeps, a.promised + b.promised, a.waiting + b.waiting, a.takeable + b.takeable, a.started + b.started}
}

// canTake reports whether the holder may take one more device within its deserved number.
func (a soakHoldings) canTake(deserved int) bool { return a.holds+a.promised+1 <= deserved }

// canGive reports whether the holder still has its deserved number with one device less.
func (a soakHoldings) canGive(deserved int) bool { return a.keeps-1 >= deserved }

// check fails if a device has two holders, or if a queue has waited too long.
func (k *elasticitySoak) check(ctx context.Context) {
	k.expectDevicesOnce(ctx)
	of, organizations := k.holdings()
	for _, team := range k.teams {
		mine := of[team.queue]
		from := k.giver(team, of, organizations)
		if from == "" {
			delete(k.waiting, team.queue)
			continue
		}
		wait, waited := k.waiting[team.queue]
		if !waited || wait.started != mine.started {
			k.waiting[team.queue] = soakWait{time.Now(), mine.started, cycles(ctx)}
			continue
		}
		waits := time.Since(wait.since)
		if waits < soakPatience || waits < soakMost && cycles(ctx)-wait.sessions < soakSessions {
			continue
		}
		Fail(fmt.Sprintf("queue %s holds less than it deserves, %+v of %d, and waits for %v although %s could give", team.queue, mine, team.deserved, waits, from))
	}
}

// giver returns a queue that could give a device to a team with waiting pods and less than it deserves, empty if there is none.
func (k *elasticitySoak) giver(team soakTeam, of, organizations map[string]soakHoldings) string {
	mine, ours := of[team.queue], organizations[team.organization]
	if mine.waiting == 0 || !mine.canTake(team.deserved) {
		return ""
	}
	all := soakHoldings{}
	for _, o := range organizations {
		all = all.plus(o)
	}
	if all.keeps+all.promised < soakNodes*soakDevicesPerNode {
		return "a free device"
	}
	for _, other := range k.teams {
		theirs := of[other.queue]
		if theirs.takeable == 0 || !theirs.canGive(other.deserved) {
			continue
		}
		if other.organization == team.organization ||
			ours.canTake(k.organizations[team.organization]) && organizations[other.organization].canGive(k.organizations[other.organization]) {
			return fmt.Sprintf("queue %s with %+v, which deserves %d,", other.queue, theirs, other.deserved)
		}
	}
	return ""
}

// holdings returns the current holdings of teams and organizations.
func (k *elasticitySoak) holdings() (of, organizations map[string]soakHoldings) {
	of, organizations = map[string]soakHoldings{}, map[string]soakHoldings{}
	for _, h := range k.record.histories() {
		team := of[h.pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey]]
		terminates, single := h.pod.DeletionTimestamp != nil, metav1.GetControllerOf(h.pod) == nil
		if h.pod.Spec.NodeName != "" {
			team.started++
		}
		switch {
		case h.holds() && terminates:
			team.holds++
		case h.holds():
			team.holds++
			team.keeps++
			if single && h.runs() {
				team.takeable++
			}
		case h.waits() && h.pod.Status.NominatedNodeName != "":
			team.promised++
		case h.waits() && single:
			team.waiting++
		}
		of[h.pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey]] = team
	}
	for _, team := range k.teams {
		organizations[team.organization] = organizations[team.organization].plus(of[team.queue])
	}
	return of, organizations
}

// promisesToKeep returns the pods with a promised node that have not started, except pods that the test has deleted.
func (k *elasticitySoak) promisesToKeep() []string {
	var pods []string
	for _, h := range k.record.histories() {
		if h.nominated != "" && h.pod.Spec.NodeName == "" && !k.record.wasDeleted(h.pod.Labels[groupLabel]) {
			pods = append(pods, h.pod.Name)
		}
	}
	return pods
}

// evictedFor matches the event of a victim, and finds the pod that it was evicted for.
var evictedFor = regexp.MustCompile(`^Evicted so that pod [^/ ]+/([^ ]+) `)

// evictedInVain returns the pods that have not started although others were evicted for them, according to the events of the victims. It
// excludes pods that the test has deleted.
func (k *elasticitySoak) evictedInVain(ctx context.Context) ([]string, error) {
	started := map[string]bool{}
	for _, h := range k.record.histories() {
		started[h.pod.Name] = started[h.pod.Name] || h.pod.Spec.NodeName != "" || k.record.wasDeleted(h.pod.Labels[groupLabel])
	}
	var pods []string
	for _, reason := range []string{"Reclaimed", "Preempted"} {
		events, err := kube.CoreV1().Events(k.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return nil, err
		}
		for i := range events.Items {
			found := evictedFor.FindStringSubmatch(events.Items[i].Message)
			if found == nil {
				return nil, fmt.Errorf("event %s says %q", reason, events.Items[i].Message)
			}
			if !started[found[1]] {
				pods = append(pods, found[1])
			}
		}
	}
	return pods, nil
}
