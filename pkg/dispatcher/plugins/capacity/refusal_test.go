// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const never = "; this does not fit even when the queue is empty: ask for less, or for more quota"

func TestWhoIsGrantedRoom(t *testing.T) {
	q := queue("q", "cpu=4")
	h20 := queue("cards", `cards={"NVIDIA-H20": 4}`)
	for name, c := range map[string]struct {
		things []thing
		// want is "" if workload w is granted room, else the reason and the message.
		want  string
		scope framework.Scope
	}{
		"there is room":     {[]thing{q, job("w", "q", 4)}, "", framework.Scope{}},
		"there is no room":  {[]thing{q, job("a", "q", 3, granted), job("w", "q", 2)}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", cpuOf("q")},
		"order is not kept": {[]thing{q, with("strictOrder: false"), job("a", "q", 3, granted), job("w", "q", 2)}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", framework.Scope{}},
		"an ancestor has no room": {[]thing{queue("ml", "cpu=4"), queue("x", "parent=ml"), queue("q", "parent=ml", "cpu=8"), job("a", "x", 3, granted), job("w", "q", 2)},
			"InsufficientCPUQuota Queue <ml> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", cpuOf("ml")},
		"it never fits":             {[]thing{q, job("a", "q", 3, granted), job("w", "q", 5)}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <5>, total would be <5>, but capability is <4>" + never, framework.Scope{}},
		"what returns still counts": {[]thing{q, job("a", "q", 3, returns), job("w", "q", 2)}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", cpuOf("q")},
		"what is finished is free":  {[]thing{q, job("a", "q", 4, finished), job("w", "q", 4)}, "", framework.Scope{}},
		"others are guaranteed some": {[]thing{queue("ml", "cpu=4"), queue("x", "parent=ml", "guarantee:cpu=3"), queue("q", "parent=ml"), job("w", "q", 2)},
			"InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <4>, of which <3> is guaranteed to others" + never, framework.Scope{}},

		"growth that fits":             {[]thing{q, job("w", "q", 4, grows(2))}, "", framework.Scope{}},
		"growth that does not fit":     {[]thing{q, job("a", "q", 1, granted), job("w", "q", 4, grows(2))}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", cpuOf("q")},
		"growth that never fits":       {[]thing{q, job("w", "q", 5, grows(2))}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <5>, total would be <5>, but capability is <4>" + never, framework.Scope{}},
		"growth above the quota":       {[]thing{q, job("a", "q", 6, granted), job("w", "q", 2, grows(2))}, "", framework.Scope{}},
		"a reserve makes room":         {[]thing{q, podGroup("g", "q", 4, granted), job("w", "q", 3, inGroup("g"))}, "", framework.Scope{}},
		"but not for others":           {[]thing{q, podGroup("g", "q", 4, granted), job("w", "q", 3)}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <3>, total would be <7>, but capability is <4>", cpuOf("q")},
		"nor beyond it":                {[]thing{q, podGroup("g", "q", 3, granted), job("a", "q", 2, granted, inGroup("g")), job("w", "q", 3, inGroup("g"))}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>", cpuOf("q")},
		"pods make room for a reserve": {[]thing{q, job("a", "q", 3, granted, inGroup("w")), podGroup("w", "q", 4)}, "", framework.Scope{}},
		"a reserve that grows":         {[]thing{q, job("a", "q", 3, granted, inGroup("w")), podGroup("w", "q", 5, grows(4))}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <5>, total would be <5>, but capability is <4>" + never, framework.Scope{}},

		"the queue does not exist":       {[]thing{job("w", "q", 1)}, "QueueNotFound Queue <q> does not exist: create the queue, or submit the job to another one", framework.Scope{}},
		"the queue is closed":            {[]thing{queue("q", "closed"), job("w", "q", 1)}, `Unschedulable Queue <q> takes no pods: its state is "Closed", not Open`, framework.Scope{}},
		"the queue is open":              {[]thing{queue("q", "open"), job("w", "q", 1)}, "", framework.Scope{}},
		"the queue has queues below":     {[]thing{queue("q"), queue("x", "parent=q"), job("w", "q", 1)}, "Unschedulable Queue <q> takes no pods, because other queues are below it: use one of those", framework.Scope{}},
		"the parent does not exist":      {[]thing{queue("q", "parent=gone"), job("w", "q", 1)}, "Unschedulable Queue <q> takes no pods: its parent gone does not exist: create that queue or change spec.parent", framework.Scope{}},
		"the queue is its own ancestor":  {[]thing{queue("q", "parent=x"), queue("x", "parent=q"), job("w", "q", 1)}, "Unschedulable Queue <q> takes no pods: it is its own ancestor (q > x > q): change spec.parent of one of them", framework.Scope{}},
		"its quota cannot be read":       {[]thing{queue("q", "cards=3"), job("w", "q", 1)}, "QuotaNotRead Queue <q> grants nothing more, because its quota cannot be read: its annotation volcano.sh/card.quota is wrong", framework.Scope{}},
		"the quota above cannot be read": {[]thing{queue("ml", "cards=3"), queue("q", "parent=ml"), job("w", "q", 1)}, "QuotaNotRead Queue <ml> grants nothing more", framework.Scope{}},
		"it cannot be counted":           {[]thing{q, job("w", "q", 1, cannotBeRead)}, "CannotCount ResourceClaimTemplate ns/t does not exist", framework.Scope{}},

		"a listed card":             {[]thing{h20, job("w", "cards", 4, gpus("NVIDIA-H20"))}, "", framework.Scope{}},
		"too many cards":            {[]thing{h20, job("a", "cards", 4, gpus(""), granted), job("w", "cards", 4, gpus("NVIDIA-H20"))}, "InsufficientScalarQuota Queue <cards> has insufficient <NVIDIA-H20> quota: requested <4>, total would be <8>, but capability is <4>", framework.Scope{Queue: "cards", Dimension: ledger.Dimension{Kind: ledger.Card, Name: "NVIDIA-H20"}}},
		"a card that nobody lists":  {[]thing{h20, job("w", "cards", 1, gpus("NVIDIA-B200"))}, "InsufficientScalarQuota Queue <cards> has insufficient <NVIDIA-B200> quota: requested <1>, total would be <1>, but capability is <0>" + never, framework.Scope{}},
		"a card that others list":   {[]thing{h20, queue("others", `cards={"NVIDIA-B200": 4}`), job("w", "cards", 1, gpus("NVIDIA-B200"))}, "InsufficientScalarQuota Queue <cards> has insufficient <NVIDIA-B200> quota: requested <1>, total would be <1>, but capability is <0>" + never, framework.Scope{}},
		"no name is no way round":   {[]thing{h20, queue("others", `cards={"NVIDIA-B200": 4}`), job("w", "cards", 1, gpus(""))}, "InsufficientScalarQuota Queue <cards> has insufficient <NVIDIA-B200> quota", framework.Scope{}},
		"cards are not limited":     {[]thing{q, job("w", "q", 1, gpus("NVIDIA-B200"))}, "", framework.Scope{}},
		"a card quota is required":  {[]thing{q, with("cardQuotaRequired: true"), job("w", "q", 1, gpus("NVIDIA-B200"))}, "EmptyQueueCapability Queue <q> has insufficient <NVIDIA-B200> quota: requested <1>, total would be <1>, but capability is <0>; the queue has no card quota: list the card in its annotation volcano.sh/card.quota" + never, framework.Scope{}},
		"cpus of cards are limited": {[]thing{q, h20, job("w", "q", 5, gpus("NVIDIA-H20"))}, "InsufficientCPUQuota Queue <q> has insufficient <cpu> quota: requested <5>, total would be <5>, but capability is <4>" + never, framework.Scope{}},
		"cpus of cards are free":    {[]thing{q, h20, with("cardUnlimitedCpuMemory: true"), job("w", "q", 5, gpus("NVIDIA-H20"))}, "", framework.Scope{}},
		"cpus of others are not":    {[]thing{q, with("cardUnlimitedCpuMemory: true"), job("w", "q", 5)}, "InsufficientCPUQuota", framework.Scope{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(c.things...)
			_, p := s.open(t)
			refusal := p.allocatable(s.workload("w"))
			got := ""
			if refusal != nil {
				got = refusal.Reason + " " + refusal.Message
			}
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if refusal == nil {
				return
			}
			if refusal.Never != strings.HasSuffix(refusal.Message, never) {
				t.Errorf("it never fits: %t", refusal.Never)
			}
			behind := refusal.Scope
			if refusal.Passable {
				behind = framework.Scope{}
			}
			if behind != c.scope {
				t.Errorf("others wait behind it for %v, want %v", behind, c.scope)
			}
		})
	}
}

func cpuOf(queue string) framework.Scope {
	return framework.Scope{Queue: queue, Dimension: ledger.Dimension{Name: "cpu"}}
}

func TestOnlyTheMinimumMustFitToEnqueue(t *testing.T) {
	q := queue("q", "cpu=4")
	for name, c := range map[string]struct {
		things                []thing
		enqueues, never, fits bool
	}{
		"the minimum fits":           {[]thing{q, job("a", "q", 2, granted), job("w", "q", 4, minimum(2))}, true, false, false},
		"the minimum does not fit":   {[]thing{q, job("a", "q", 3, granted), job("w", "q", 4, minimum(2))}, false, false, false},
		"the minimum never fits":     {[]thing{q, job("w", "q", 6, minimum(5))}, false, true, false},
		"there is no minimum":        {[]thing{q, job("a", "q", 4, granted), job("w", "q", 4, minimum(0))}, true, false, false},
		"there is no capability":     {[]thing{queue("q"), job("w", "q", 100)}, true, false, true},
		"what was granted is enough": {[]thing{q, job("a", "q", 2, granted), job("w", "q", 3, grows(2), minimum(2))}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(c.things...)
			_, p := s.open(t)
			refusal := p.enqueueable(s.workload("w"))
			if (refusal == nil) != c.enqueues || refusal != nil && refusal.Never != c.never {
				t.Errorf("refused: %v", refusal)
			}
			if fits := p.allocatable(s.workload("w")) == nil; fits != c.fits {
				t.Errorf("it fits as a whole: %t", fits)
			}
		})
	}
}

func TestARequiredDeviceQuotaIsNamed(t *testing.T) {
	s := newScene(queue("q"), class("h100"), with("deviceQuotaRequired: true"), job("w", "q", 1, func(w *framework.Workload) {
		requestDevices(w, "h100")
	}))
	_, p := s.open(t)
	refusal := p.allocatable(s.workload("w"))
	if refusal == nil || refusal.Reason != "EmptyQueueCapability" || !strings.Contains(refusal.Message, "deviceQuotaRequired") {
		t.Errorf("refused: %v", refusal)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		given framework.Arguments
		want  string
	}{
		"none":                {nil, ""},
		"all":                 {framework.Arguments{"reclaim": true, "strictOrder": false, "cardQuotaRequired": true, "deviceQuotaRequired": true, "cardUnlimitedCpuMemory": true}, ""},
		"an unknown one":      {framework.Arguments{"reclame": true}, "there is no argument reclame"},
		"one of a wrong type": {framework.Arguments{"reclaim": "yes"}, "argument reclaim is yes: it must be true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Registration.Check(c.given)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestQueuesAreOrderedByPriorityThenShare(t *testing.T) {
	a, b := queue("a", "deserved:cpu=4"), queue("b", "deserved:cpu=4")
	for name, c := range map[string]struct {
		things []thing
		first  string
	}{
		"the smaller share comes first":       {[]thing{a, b, job("x", "a", 2, granted), job("y", "b", 1, granted)}, "b"},
		"priority comes before share":         {[]thing{a, queue("b", "deserved:cpu=4", "priority=1"), job("y", "b", 3, granted)}, "b"},
		"nothing deserved comes last":         {[]thing{queue("a"), b}, "b"},
		"equal shares say nothing":            {[]thing{a, b}, ""},
		"subtrees are compared":               {[]thing{queue("l", "deserved:cpu=4"), queue("r", "deserved:cpu=4"), queue("a", "parent=l", "deserved:cpu=2"), queue("o", "parent=l"), queue("b", "parent=r", "deserved:cpu=2"), job("x", "o", 3, granted), job("y", "b", 1, granted)}, "b"},
		"a queue that does not exist is last": {[]thing{queue("b", "priority=1")}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := newScene(c.things...).open(t)
			first := map[int]string{-1: "a", 0: "", 1: "b"}[p.queueOrder("a", "b")]
			if first != c.first {
				t.Errorf("%q comes first, want %q", first, c.first)
			}
		})
	}
}
