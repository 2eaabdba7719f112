// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestWhatWasDoneComesBeforeHowThingsStand(t *testing.T) {
	var b backlog
	put := func(object string, urgency urgency, message string) {
		b.put(note{topic: topic{object: types.UID(object)}, urgency: urgency, message: message})
	}
	put("a", refreshed, "other numbers")
	put("b", changed, "refused")
	put("c", changed, "refused")
	put("d", done, "granted")
	put("c", done, "granted")
	put("b", refreshed, "refused again")
	put("e", changed, "refused")
	put("d", changed, "grows")
	put("f", changed, "refused")
	b.drop(topic{object: "e"})
	b.drop(topic{object: "never seen"})
	var got []string
	for n, found := b.next(); found; n, found = b.next() {
		got = append(got, string(n.topic.object)+" "+n.message)
	}
	const want = "d grows, c granted, b refused again, f refused, a other numbers"
	if strings.Join(got, ", ") != want {
		t.Errorf("the events are %q, want %q", strings.Join(got, ", "), want)
	}
}

// TestTheBacklogHasOneEventOfEachTopic: events of workloads that change all the time must not add up.
func TestTheBacklogHasOneEventOfEachTopic(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var b backlog
	latest := map[topic]string{}
	for i := range 10_000 {
		n := note{topic: topic{types.UID(fmt.Sprint(random.IntN(20))), random.IntN(2) == 0}, urgency: urgency(random.IntN(urgencies)), message: fmt.Sprint(i)}
		switch random.IntN(4) {
		case 0:
			b.drop(n.topic)
			delete(latest, n.topic)
		case 1:
			if next, found := b.next(); found {
				if latest[next.topic] != next.message {
					t.Fatalf("seed %d: the event is %s, but the latest of its topic is %q", seed, next.message, latest[next.topic])
				}
				delete(latest, next.topic)
			}
		default:
			b.put(n)
			latest[n.topic] = n.message
		}
		if lines := b.lines[done].Len() + b.lines[changed].Len() + b.lines[refreshed].Len(); lines != len(latest) || len(b.notes) != len(latest) {
			t.Fatalf("seed %d: %d events in lines and %d notes, want %d", seed, lines, len(b.notes), len(latest))
		}
	}
}
