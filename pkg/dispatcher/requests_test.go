// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	k8stesting "k8s.io/client-go/testing"
)

// requests returns the number of requests by verb and resource, without requests of informers and discovery.
func (p *controlPlane) requests() map[string]int {
	n := map[string]int{}
	for _, fake := range []*k8stesting.Fake{&p.kube.Fake, &p.karmada.Fake, &p.volcano.Fake, &p.api.Fake} {
		for _, action := range fake.Actions() {
			verb, resource := action.GetVerb(), action.GetResource().Resource
			if verb != "list" && verb != "watch" && resource != "resource" { // fakes use that name for discovery
				n[verb+" "+resource]++
			}
		}
	}
	return n
}

// TestAGrantIsOnePatchAndTwoEvents grants room to one workload in each of ten queues, which are below another queue.
func TestAGrantIsOnePatchAndTwoEvents(t *testing.T) {
	p := newControlPlane(t, "", backlog{departments: 1, held: 1, room: 1})
	const grants = 10
	queues := len(p.queues)
	limits := map[string]int{
		"patch resourcebindings": grants,
		"create events":          2 * grants, // on the binding and on the workload
		// The status of a queue and its columns are written at most once a second, for any number of grants.
		"update queues": queues,
		"patch queues":  queues,
	}
	p.runCycle(t.Context())
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		n := p.requests()
		return n["create events"] >= limits["create events"] && n["update queues"] >= queues, nil
	})
	n := p.requests()
	if err != nil {
		t.Fatalf("not all has been written after a minute: %v: %v", err, n)
	}
	for request, got := range n {
		if got > limits[request] {
			t.Errorf("%d requests to %s for %d grants, want at most %d", got, request, grants, limits[request])
		}
	}
	if got := n["patch resourcebindings"]; got != grants {
		t.Errorf("%d patches of bindings, want %d", got, grants)
	}
	t.Logf("requests for %d grants in %d queues: %v", grants, queues, n)
}

// TestALeaderThatWasStoppedDecidesNothing until its lease is renewed: another dispatcher may lead, and its data is old.
func TestALeaderThatWasStoppedDecidesNothing(t *testing.T) {
	p := newControlPlane(t, "", backlog{departments: 1, held: 1, room: 1})
	renewal := time.Hour
	p.renewed = func(d time.Duration) bool { return renewal <= d }
	before := time.Now()
	if next := p.runCycle(t.Context()); next.Before(before) || next.After(time.Now().Add(p.period)) {
		t.Errorf("the next cycle is at %v, want after a period of %v", next, p.period)
	}
	if n := p.requests(); len(n) != 0 {
		t.Errorf("requests of a leader whose lease is stale: %v", n)
	}
	renewal = MaxDecisionAge
	p.runCycle(t.Context())
	if n := p.requests(); n["patch resourcebindings"] == 0 {
		t.Errorf("requests when the lease has been renewed: %v", n)
	}
}
