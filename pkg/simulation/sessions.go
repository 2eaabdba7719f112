// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// maxSessions limits the sessions of a simulation.
	maxSessions = 500
	// unchanged is the number of consecutive sessions without a change that end a simulation.
	unchanged = 4
	// look is the time between two checks whether all decisions of a session have arrived.
	look = time.Millisecond
	// maxWait limits the time of these checks. Pods that wait for the binding conditions of devices take longer and are not awaited.
	maxWait = 5 * time.Second
	// maxUnread limits how long the scheduler may take to read everything.
	maxUnread = time.Minute
)

// runSessions runs sessions, and controllers between them, until nothing changes.
func (r *replay) runSessions(ctx context.Context) error {
	if err := r.control(); err != nil {
		return err
	}
	last, same, began := "", 0, time.Now()
	for sessions := 0; sessions < maxSessions && same < unchanged; sessions++ {
		if err := r.arrive(ctx); err != nil {
			return err
		}
		r.plugins.Publisher().Ask()
		r.scheduler.RunOnce(ctx)
		if err := r.arrive(ctx); err != nil {
			return err
		}
		if err := r.control(); err != nil {
			return err
		}
		if err := r.plugins.Ready(); err != nil {
			if time.Since(began) > maxUnread {
				return fmt.Errorf("the scheduler cannot read the state: %w", err)
			}
			same = 0
			continue
		}
		now := r.fingerprint()
		if same++; now != last {
			last, same = now, 0
		}
	}
	return ctx.Err()
}

// arrive waits until clients have read all writes and handled them, and the scheduler has written all decisions.
func (r *replay) arrive(ctx context.Context) error {
	timer := time.NewTicker(look)
	defer timer.Stop()
	deadline := time.Now().Add(maxWait)
	for quiet := 0; quiet < 3; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if quiet++; !r.server.Delivered() || r.scheduler.InFlight() > 0 || !othersWait() {
			quiet = 0
		}
		if time.Now().After(deadline) {
			return nil
		}
	}
	return nil
}

// othersWait reports whether all other goroutines wait. An event is read long before all its handlers have run: on a loaded machine, sessions would
// miss some pods of a job. Go counts goroutines by state since 1.26. Before, this is always true.
func othersWait() bool {
	counts := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(counts)
	busy := uint64(0)
	for i := range counts {
		if counts[i].Value.Kind() == metrics.KindUint64 {
			busy += counts[i].Value.Uint64()
		}
	}
	return busy <= 1 // this one
}

// fingerprint changes with each decision about the nodes of pods, the phases of PodGroups, or the devices of claims.
func (r *replay) fingerprint() string {
	decided := map[string]any{}
	for _, pod := range r.server.List("", "v1", "pods") {
		node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		nominated, _, _ := unstructured.NestedString(pod.Object, "status", "nominatedNodeName")
		decided["pod "+pod.GetNamespace()+"/"+pod.GetName()] = []string{node, nominated, fmt.Sprint(pod.GetDeletionTimestamp() != nil)}
	}
	for _, group := range r.server.List("scheduling.volcano.sh", "v1beta1", "podgroups") {
		phase, _, _ := unstructured.NestedString(group.Object, "status", "phase")
		decided["group "+group.GetNamespace()+"/"+group.GetName()] = phase
	}
	for _, claim := range r.server.List("resource.k8s.io", "v1", "resourceclaims") {
		allocation, _, _ := unstructured.NestedMap(claim.Object, "status", "allocation")
		decided["claim "+claim.GetNamespace()+"/"+claim.GetName()] = allocation
	}
	text, err := json.Marshal(decided)
	if err != nil {
		panic(err) // all of it was JSON before
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
