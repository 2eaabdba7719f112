// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/spent"
)

// answers is a StatusUpdater that gives one answer to all writes of PodGroups, and counts them.
type answers struct {
	schedulercache.StatusUpdater
	version string
	err     error
	// writes counts the writes of PodGroups, and pods and queues those of their statuses.
	writes, pods, queues int
}

func (a *answers) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) {
	a.pods++
	written := pod.DeepCopy()
	written.ResourceVersion = a.version
	return written, a.err
}

func (a *answers) UpdateQueueStatus(*api.QueueInfo) error {
	a.queues++
	return a.err
}

func (a *answers) UpdatePodGroup(group *api.PodGroup) (*api.PodGroup, error) {
	a.writes++
	if a.err != nil {
		return nil, a.err
	}
	written := group.Clone()
	written.ResourceVersion = a.version
	return written, nil
}

// TestAPodGroupIsWrittenOnceForEachVersion tests that sessions do not repeat what the API server refuses until the watch has caught up.
func TestAPodGroupIsWrittenOnceForEachVersion(t *testing.T) {
	p := newPodsFixture(t, wholePod("p", ""))
	groups := vcv1beta1.Resource("podgroups")
	for name, test := range map[string]struct {
		answers
		// again is the number of writes of a second session with the same version. told is how often the pod is told why it waits: where the
		// PodGroup is not written for an error, Volcano does not tell it.
		again, told int
	}{
		"written":        {answers{version: "2"}, 0, 3},
		"nothing to do":  {answers{version: "1"}, 1, 3},
		"changed before": {answers{err: apierrors.NewConflict(groups, "job", errors.New("modified"))}, 0, 1},
		"gone":           {answers{err: apierrors.NewNotFound(groups, "job")}, 0, 1},
		"no answer":      {answers{err: apierrors.NewTimeoutError("busy", 1)}, 1, 0},
	} {
		server := &test.answers
		p.spent = spent.Versions{}
		p.StatusUpdater = server
		session := func(version string) int {
			p.Lock()
			p.Jobs["ns/job"].PodGroup.ResourceVersion = version
			p.Unlock()
			before := server.writes
			_, err := p.UpdateJobStatus(p.Snapshot().Jobs["ns/job"], true, false, false)
			if server.writes > before && !errors.Is(err, server.err) {
				t.Errorf("%s: the error is %v", name, err)
			}
			return server.writes - before
		}
		first, second, other := session("1"), session("1"), session("3")
		if server.pods != test.told {
			t.Errorf("%s: the pod is told %d times why it waits, want %d", name, server.pods, test.told)
		}
		if first != 1 || second != test.again || other != 1 {
			t.Errorf("%s: %d, %d, and %d writes, want 1, %d, and 1", name, first, second, other, test.again)
		}
	}
}

// TestTheStatusOfAPodIsWrittenOnceForEachVersion tests the same for the statuses that Volcano writes.
func TestTheStatusOfAPodIsWrittenOnceForEachVersion(t *testing.T) {
	p := newPodsFixture(t, wholePod("p", ""))
	server := &answers{version: "2"}
	p.StatusUpdater = statuses{server, &p.spent}
	pod := wholePod("p", "")
	for i, version := range []string{"1", "1", "2", "2", "3"} {
		pod.ResourceVersion = version
		if _, err := p.StatusUpdater.UpdatePodStatus(pod); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2, 3, 4}[i]; server.pods != want {
			t.Errorf("after write %d, of version %s, the API server got %d, want %d: its version is 2", i+1, version, server.pods, want)
		}
	}
}

// TestTheStatusOfAQueueIsNotWrittenWhileTheWatchIsLate tests the same for queues. Volcano does not tell which version was written.
func TestTheStatusOfAQueueIsNotWrittenWhileTheWatchIsLate(t *testing.T) {
	p := newPodsFixture(t, wholePod("p", ""))
	server := &answers{}
	updater := statuses{server, &p.spent}
	queue := api.NewQueueInfo(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "q"}})
	conflict := apierrors.NewConflict(vcv1beta1.Resource("queues"), "q", errors.New("modified"))
	for i, write := range []struct {
		version string
		answer  error
		want    int
	}{{"1", nil, 1}, {"1", conflict, 2}, {"1", conflict, 2}, {"2", nil, 3}, {"2", nil, 4}} {
		queue.Queue.ResourceVersion, server.err = write.version, write.answer
		if err := updater.UpdateQueueStatus(queue); server.queues != write.want || err != nil && write.answer == nil {
			t.Errorf("after write %d, of version %s, the API server got %d, want %d; %v", i+1, write.version, server.queues, write.want, err)
		}
	}
}
