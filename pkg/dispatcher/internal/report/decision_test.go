// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

func TestWhatEventsSay(t *testing.T) {
	four := &binding.Grant{Queue: "team", Amounts: []binding.Amount{units(cpu, 4), units(memory, 8<<30)}}
	two := granted("train", "team", units(cpu, 2))
	requeue := &binding.Requeue{Attempts: 2, NotBefore: metav1.NewTime(noon), Reason: "no cluster has room"}
	short := &framework.Refusal{
		Reason: "InsufficientCPUQuota", Message: "Queue <team> has insufficient <cpu> quota: requested <4>, total would be <9>, but capability is <8>",
		Scope: framework.Scope{Queue: "team", Dimension: cpu},
	}
	never := *short
	never.Never = true
	waits := job("train", "team")
	vain := job("train", "team")
	vain.State.Requeue = requeue
	unknown := job("train", "team")
	unknown.Err = errors.New("ResourceClaimTemplate ns/gpus does not exist: create it")
	spoiled := job("train", "team")
	spoiled.State.Err = errors.New("volcano.sh/granted: unexpected end of JSON input")
	ended := granted("train", "team", units(cpu, 2))
	ended.State.Ended = "Completed in member1"
	clusterWide := job("train", "team")
	clusterWide.Binding.Spec.Resource.Namespace = ""
	many := &binding.Grant{Queue: "team"}
	for range 7 {
		many.Amounts = append(many.Amounts, units(h100, 1))
	}
	lost := job("train", "team")
	lost.Lost = "east"
	lostToo := job("train", "team")
	lostToo.Lost, lostToo.Err = "east", unknown.Err
	for _, c := range []struct {
		decision Decision
		want     string
	}{
		{Held(waits, short), "held Warning InsufficientCPUQuota Queue <team> has insufficient <cpu> quota: requested <4>, total would be <9>, but capability is <8>"},
		{Held(waits, &never), "held Warning NeverFits Queue <team> has insufficient <cpu> quota: requested <4>, total would be <9>, but capability is <8>"},
		{GrowthHeld(two, short), "growth_held Warning GrowthHeld What runs goes on, but the growth is held. Queue <team> has insufficient <cpu> quota: requested <4>, total would be <9>, but capability is <8>"},
		{GrowthHeld(two, &never), "growth_held Warning GrowthHeld What runs goes on, but the growth is held. Queue <team> has insufficient <cpu> quota: requested <4>, total would be <9>, but capability is <8>"},
		{WaitsBehind(waits, job("first", "team"), short.Scope), "held Normal WaitsBehind Queue <team> has no <cpu> for Job ns/first, which comes first: wait, raise the priority of this workload, or set strictOrder: false in the dispatcher's configuration"},
		{BacksOff(vain), "held Normal Held Queue <team> does not try again before 2026-05-01T12:00:00Z, because 2 of its grants to this workload were in vain. The last time: no cluster has room"},
		{SuspendedByOthers(waits), "held Normal Held ResourceBinding ns/train-job was suspended by somebody else, so that queue <team> grants it nothing: set its spec.suspension.scheduling to false to let it queue"},
		{MayRun(waits), "held Normal Held Queue <team> is charged for Job ns/train without a grant, because something of it may run in a cluster that it has left: it is tried again when its last Work is gone"},
		{NoPolicy(waits), "held Warning NoPolicy No policy matches Job ns/train any more, so that Karmada ignores it, and queue <team> grants it nothing: create a PropagationPolicy or ClusterPropagationPolicy for it, or delete it"},
		{Held(waits, &framework.Refusal{Message: "Queue <team> takes no pods yet"}), "held Warning Held Queue <team> takes no pods yet"},
		{NoPolicy(clusterWide), "held Warning NoPolicy No policy matches Job train any more, so that Karmada ignores it, and queue <team> grants it nothing: create a PropagationPolicy or ClusterPropagationPolicy for it, or delete it"},
		{CannotCount(unknown), "held Warning CannotCount Queue <team> grants nothing to Job ns/train, because what it needs is not known: ResourceClaimTemplate ns/gpus does not exist: create it"},
		{AnnotationNotRead(spoiled), "held Warning CannotCount ResourceBinding ns/train-job is left as it is, because an annotation of the dispatcher cannot be read: volcano.sh/granted: unexpected end of JSON input. Correct or delete the annotation"},
		{Granted(waits, four), "granted Normal Granted Queue <team> grants <4> of cpu, <8GiB> of memory: Karmada may choose clusters now"},
		{Granted(waits, &binding.Grant{Queue: "team"}), "granted Normal Granted Queue <team> grants nothing: Karmada may choose clusters now"},
		{Granted(waits, many), "granted Normal Granted Queue <team> grants <1> of h100, <1> of h100, <1> of h100, <1> of h100, <1> of h100, and 2 more: Karmada may choose clusters now"},
		{GrowthGranted(two, four), "growth_granted Normal GrowthGranted Queue <team> grants the growth: <4> of cpu, <8GiB> of memory instead of <2> of cpu"},
		{Shrunk(granted("train", "team", units(cpu, 4)), two.State.Grant), "shrunk Normal Shrunk Queue <team> is charged <2> of cpu instead of <4> of cpu, because the workload needs less"},
		{Adopted(waits, four), "adopted Normal Adopted Queue <team> is charged <4> of cpu, <8GiB> of memory, whether it has room or not, because ResourceBinding ns/train-job was never held: it is older than the dispatcher, or its webhook was not asked"},
		{TakenBack(two, requeue), "taken_back Warning TakenBack Queue <team> takes back <2> of cpu, because the grant was in vain: no cluster has room. The workload waits again, and is not tried before 2026-05-01T12:00:00Z"},
		{Reclaimed(two, job("urgent", "other")), "reclaimed Normal Reclaimed Queue <team> loses <2> of cpu, because queue <other> takes back what it deserves for Job ns/urgent. The workload is removed from its clusters and waits again. To keep more, raise deserved of queue <team>"},
		{Returned(two), "returned Normal Returned Queue <team> has <2> of cpu back, because nothing of the workload runs any more: it waits again"},
		{Lost(lost), "still_runs Warning StillRuns Queue <team> is charged for Job ns/train in cluster east. Karmada has lost it: it has neither a ResourceBinding nor a Work. Delete it there"},
		{Lost(lostToo), "still_runs Warning StillRuns Queue <team> should be charged for Job ns/train in cluster east, which cannot be counted: ResourceClaimTemplate ns/gpus does not exist: create it. Karmada has lost it: it has neither a ResourceBinding nor a Work. Delete it there"},
		{Finished(ended), "finished Normal Finished Job ns/train has ended (Completed in member1): queue <team> is no longer charged for it"},
	} {
		d := c.decision
		if got := fmt.Sprintf("%s %s %s %s", d.Kind, d.Type, d.Reason, d.Message); got != c.want {
			t.Errorf("the event is\n%s, want\n%s", got, c.want)
		}
	}
}

// TestOnlyTheNumbersOfARefusalAreNoNews: otherwise, 10,000 workloads of a queue would have news whenever one of them starts.
func TestOnlyTheNumbersOfARefusalAreNoNews(t *testing.T) {
	w := job("train", "team")
	scope := framework.Scope{Queue: "team", Dimension: cpu}
	refusal := func(reason, message string, scope framework.Scope) Decision {
		return Held(w, &framework.Refusal{Reason: reason, Message: message, Scope: scope})
	}
	before := refusal("InsufficientCPUQuota", "total would be <9>", scope)
	behind := WaitsBehind(w, job("first", "team"), scope)
	failed := func(why string) Decision {
		w := job("train", "team")
		w.Err = errors.New(why)
		return CannotCount(w)
	}
	for _, c := range []struct {
		name          string
		before, after Decision
		isNews        bool
	}{
		{"other numbers", before, refusal("InsufficientCPUQuota", "total would be <10>", scope), false},
		{"another queue is full", before, refusal("InsufficientCPUQuota", "total would be <9>", framework.Scope{Queue: "root", Dimension: cpu}), true},
		{"something else is short", before, refusal("InsufficientScalarQuota", "total would be <9>", framework.Scope{Queue: "team", Dimension: h100}), true},
		{"it waits behind another one", before, behind, true},
		{"another one comes first", behind, WaitsBehind(w, job("second", "team"), scope), false},
		{"its growth is refused", before, GrowthHeld(w, &framework.Refusal{Reason: "InsufficientCPUQuota", Scope: scope}), true},
		{"it cannot be counted", failed("no template"), failed("no class"), true},
		{"it still cannot be counted", failed("no template"), failed("no template"), false},
	} {
		if got := c.before.news() != c.after.news(); got != c.isNews {
			t.Errorf("%s: news is %t, want %t", c.name, got, c.isNews)
		}
	}
}

func TestAMessageThatQuotesAllClustersIsCut(t *testing.T) {
	w := job("train", "team")
	w.Err = errors.New(strings.Repeat("é", 5000))
	got := CannotCount(w).Message
	if len(got) > maxMessage+4 || !strings.HasSuffix(got, "éé ...") || !utf8.ValidString(got) {
		t.Errorf("the message has %d bytes and ends with %q", len(got), got[len(got)-20:])
	}
}
