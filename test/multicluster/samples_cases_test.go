// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// second returns a time a number of seconds after the beginning of a story.
func second(n int) time.Time { return time.Unix(1_800_000_000+int64(n), 0) }

// seenAt returns changes that are delivered one second after another, from a given second on.
func seenAt(n int, changes ...change) []change {
	for i := range changes {
		changes[i].seen = second(n + i)
	}
	return changes
}

// runningPods returns pods of one core in the queue of story.
func runningPods(names ...string) alive {
	pods := alive{}
	for _, name := range names {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{upstreamv1beta1.QueueNameAnnotationKey: "ns-team"},
		}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: cores("1")}}}
		pods[pod.UID] = pod
	}
	return pods
}

// TestSamples checks that samples find mistakes: otherwise, samples without findings would prove nothing.
func TestSamples(t *testing.T) {
	granted := func(name string) change { return binding(name, "", "") }
	for _, c := range []struct {
		name    string
		changes []change
		// at is when the pods were seen.
		at   int
		pods alive
		// want is part of the finding, empty if there must be none.
		want string
	}{
		{"what was released runs", seenAt(1, job("a", 3), granted("a")), 9, runningPods("1", "2", "3"), ""},
		{"more than the queue may hold runs", seenAt(1, job("a", 3), granted("a")), 9, runningPods("1", "2", "3", "4"),
			"4000 of cpu run in queue ns-team, which may hold 3000"},
		{"what was released may go on when the capability is lowered", seenAt(1, job("a", 3), granted("a"), queue("team", 1, "org")), 9, runningPods("1", "2", "3"), ""},
		{"what was released since must fit the lower one", seenAt(1, job("a", 1), granted("a"), queue("team", 2, "org"), job("b", 1), granted("b")), 9, runningPods("1", "2", "3"),
			"3000 of cpu run in queue ns-team, which may hold 2000"},
		{"a release may be delivered late", append(seenAt(1, job("a", 3), granted("a")), seenAt(10, queue("team", 4, "org"), job("b", 1), granted("b"))...), 11,
			runningPods("1", "2", "3", "4"), ""},
		{"but not that late", append(seenAt(1, job("a", 3), granted("a")), seenAt(10, queue("team", 4, "org"), job("b", 1), granted("b"))...), 6,
			runningPods("1", "2", "3", "4"), "which may hold 3000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := replayed(append(seenAt(0, queue("team", 3, "org")), c.changes...))
			if err != nil {
				t.Fatal(err)
			}
			s := sighting{second(c.at), second(c.at), c.pods}
			found := r.exceeded([]sighting{s, s})
			if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0], c.want)) {
				t.Errorf("found %q, want %q once", found, c.want)
			}
		})
	}
}

func TestPodsAreSeenTogetherOnlyIfTheyWere(t *testing.T) {
	in := func(names ...string) map[string]alive { return map[string]alive{"ns": runningPods(names...)} }
	for _, c := range []struct {
		name                   string
		before, between, after []string
		want                   int
	}{
		{"pods of both members", []string{"1"}, []string{"2"}, []string{"1"}, 2},
		{"one that came afterwards", nil, []string{"2"}, []string{"1"}, 1},
		{"one that had gone before", []string{"1"}, []string{"2"}, nil, 1},
		{"one that had been replaced", []string{"1"}, []string{"2"}, []string{"3"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &samples{sightings: map[string][]sighting{}}
			s.add(listing{pods: in(c.before...)}, listing{pods: in(c.between...)}, listing{pods: in(c.after...)})
			seen, err := s.of("ns")
			if err != nil || len(seen) != 1 || len(seen[0].pods) != c.want {
				t.Errorf("seen %s, %v, want %d pods", fmt.Sprint(seen), err, c.want)
			}
		})
	}
}
