// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
)

// TestWhatCannotBeCountedIsNoted: a user replaces a claim template by a larger one, and keeps the workload from being counted by another one.
func TestWhatCannotBeCountedIsNoted(t *testing.T) {
	w := newWorld(class("h100"), claimTemplate("large", nil, exactly("h100", 8)), namedClaim("shared", exactly("h100", 1)), claimTemplate("of a task without pods", nil, exactly("h100", 1)))
	unknown, later := pods(1, fromTemplate("gone"), fromTemplate("large")), pods(1, fromTemplate("large"), sharing("shared"))
	_, n, err := w.counted(t, job(unknown, later, pods(0, fromTemplate("of a task without pods"))), framework.Spread{Copies: 1, Granted: &binding.Grant{Queue: "team"}})
	want := []string{binding.ClaimNote(w.templates["ns/large"]), binding.ClaimNote(w.claims["ns/shared"])}
	slices.Sort(want)
	if err == nil || !slices.Equal(n.Given, want) {
		t.Errorf("noted %q with the error %v, want %q and an error", n.Given, err, want)
	}
}

// TestWhatWaitsAndCannotBeCountedIsNotReadInEachCycle: a user may have thousands of such workloads, each of which names hundreds of claims.
func TestWhatWaitsAndCannotBeCountedIsNotReadInEachCycle(t *testing.T) {
	w := &lookups{world: newWorld(class("h100"))}
	var naming []func(*corev1.PodTemplateSpec)
	for i := range binding.MaxGiven {
		naming = append(naming, fromTemplate(fmt.Sprint("gone ", i)))
	}
	counter := needs.New()
	inputs := w.inputs()
	inputs.Claims = w
	counter.Begin(inputs)
	template := job(pods(1, naming...))
	before := counter.Of(template, framework.Spread{Copies: 1}, nil)
	counter.Begin(inputs)
	if after := counter.Of(template, framework.Spread{Copies: 1}, before); after != before || after.Err == nil || w.n > 4 {
		t.Errorf("%d claim templates were looked up, and the error is %v", w.n, after.Err)
	}
}

// lookups counts what is looked up.
type lookups struct {
	*world
	n int
}

// ClaimTemplate implements dra.ClaimReader.
func (l *lookups) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	l.n++
	return l.world.ClaimTemplate(namespace, name)
}
