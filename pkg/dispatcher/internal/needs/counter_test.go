// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var alone = framework.Spread{Copies: 1}

func TestAChangeIsCountedInTheNextRound(t *testing.T) {
	fpga := job(pods(1, requests("example.com/fpga=1")))
	gpu := job(pods(1, requests("nvidia.com/gpu=1")))
	claiming := job(pods(1, fromTemplate("t")))
	offered := job(pods(1, requests("example.com/h100=1")))
	for name, c := range map[string]struct {
		world         *world
		job           *workload.Template
		change        option
		before, after string
	}{
		"a queue lists a resource":   {newWorld(), fpga, limits("example.com/fpga=1"), "pods=1", "example.com/fpga=1 pods=1"},
		"a queue lists a card":       {newWorld(), gpu, cards(`{"NVIDIA-H20": 1}`), "pods=1", "NVIDIA-H20=1 pods=1"},
		"a template appears":         {newWorld(class("a")), claiming, claimTemplate("t", nil, exactly("a", 1)), "", "a=1 pods=1"},
		"a template changes":         {newWorld(class("a"), claimTemplate("t", nil, exactly("a", 1))), claiming, claimTemplate("t", nil, exactly("a", 2)), "a=1 pods=1", "a=2 pods=1"},
		"a class appears":            {newWorld(claimTemplate("t", nil, exactly("a", 1))), claiming, class("a"), "", "a=1 pods=1"},
		"a class offers a resource":  {newWorld(limits("example.com/h100=1")), offered, class("h100", offers("example.com/h100")), "example.com/h100=1 pods=1", "example.com/h100=1 h100=1 pods=1"},
		"a queue limits a capacity":  {newWorld(class("a"), claimTemplate("t", nil, exactly("a", 1))), claiming, capacity("a", "memory", "1Gi"), "a=1 pods=1", "a=1 pods=1 without a/memory"},
		"quotas list a card no more": {newWorld(cards(`{"NVIDIA-H20": 1}`)), gpu, func(w *world) { w.queues = nil }, "NVIDIA-H20=1 pods=1", "pods=1"},
	} {
		t.Run(name, func(t *testing.T) {
			counter := needs.New()
			var n *needs.Counted
			for _, want := range []string{c.before, c.after} {
				counter.Begin(c.world.inputs())
				n = counter.Of(c.job, alone, n)
				if (n.Err != nil) != (want == "") || textOf(counter, n.Needs) != want {
					t.Errorf("got %q (%v), want %q", textOf(counter, n.Needs), n.Err, want)
				}
				c.change(c.world)
			}
		})
	}
}

func TestLimitsAreThoseOfTheQueue(t *testing.T) {
	q := queue("q", "cpu=4")
	q.Spec.Deserved, q.Spec.Guarantee.Resource = list("cpu=2"), list("cpu=1")
	q.Annotations = map[string]string{"volcano.sh/card.quota": `{"NVIDIA-H20": 3}`, "volcano.sh/card.deserved": `{"NVIDIA-H20": 2}`}
	q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: 8}}}
	wrong := queue("wrong", "cpu=4")
	wrong.Annotations["volcano.sh/card.quota"] = "3"
	counter := needs.New()
	limits := counter.Begin(needs.Inputs{Queues: []*schedulingv1beta1.Queue{q, wrong}})
	got := limits["q"]
	for what, pair := range map[string][2]string{
		"capability":                         {text(counter, got.Capability), "NVIDIA-H20=3 cpu=4 h100=8"},
		"deserved":                           {text(counter, got.Deserved), "NVIDIA-H20=2 cpu=2"},
		"guarantee":                          {text(counter, got.Guarantee), "cpu=1"},
		"the rest of a queue with a mistake": {text(counter, limits["wrong"].Capability), "cpu=4"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %s, want %s", what, pair[0], pair[1])
		}
	}
	if !got.ListsCards || got.Err != nil || !limits["wrong"].ListsCards || limits["wrong"].Err == nil {
		t.Errorf("lists cards %t, errors %v and %v", got.ListsCards, got.Err, limits["wrong"].Err)
	}
}

func TestExceedsSaysWhatIsBeyondAGrant(t *testing.T) {
	counter, n, _ := newWorld().counted(t, job(pods(4, requests("cpu=1", "memory=1Gi"))), alone)
	cpu := binding.Amount{Dimension: ledger.Dimension{Name: "cpu"}, Amount: ledger.Units(1)}
	grant := &binding.Grant{Amounts: needs.ToGrant(counter.Dimensions(), n.All)}
	if beyond := needs.Exceeds(counter.Dimensions(), n, grant); len(beyond) != 0 {
		t.Errorf("a grant of everything is not enough: %v", beyond)
	}
	grant.Amounts[0].Amount = ledger.Units(3)
	if beyond := needs.Exceeds(counter.Dimensions(), n, grant); len(beyond) != 1 || beyond[0] != cpu {
		t.Errorf("got %v, want one cpu", beyond)
	}
	if back := text(counter, needs.FromGrant(counter.Dimensions(), needs.ToGrant(counter.Dimensions(), n.All))); back != text(counter, n.All) {
		t.Errorf("a grant reads as %s", back)
	}
	if beyond := needs.Exceeds(counter.Dimensions(), n, nil); len(beyond) != 3 {
		t.Errorf("without a grant, %v is beyond", beyond)
	}
}

// BenchmarkRound counts 10,000 unchanged workloads.
func BenchmarkRound(b *testing.B) {
	w := newWorld(class("h100"), claimTemplate("t", nil, exactly("h100", 1)))
	for i := range 100 {
		q := queue(fmt.Sprintf("q%d", i), "cpu=100", "memory=100Gi")
		q.Annotations["volcano.sh/card.quota"] = `{"NVIDIA-H20": 8, "NVIDIA-H800": 8}`
		w.queues = append(w.queues, q)
	}
	var jobs []*workload.Template
	for i := range 10_000 {
		if i%4 == 0 {
			jobs = append(jobs, job(pods(4, fromTemplate("t"))))
		} else {
			jobs = append(jobs, job(pods(4, requests("cpu=1", "nvidia.com/gpu=1"), naming("NVIDIA-H20"))))
		}
	}
	counter, counted := needs.New(), make([]*needs.Counted, len(jobs))
	round := func() {
		counter.Begin(w.inputs())
		for i, j := range jobs {
			if counted[i] = counter.Of(j, alone, counted[i]); counted[i].Err != nil {
				b.Fatal(counted[i].Err)
			}
		}
	}
	round()
	for b.Loop() {
		round()
	}
}

// TestALabelOfAClaimChangesNoCount: its user may change it at any time, and hundreds of large jobs may name the claim.
func TestALabelOfAClaimChangesNoCount(t *testing.T) {
	w := newWorld(class("h100"), claimTemplate("t", nil, exactly("h100", 1)))
	change := func(change func(*resourceapi.ResourceClaimTemplate)) {
		changed := w.templates["ns/t"].DeepCopy()
		change(changed)
		w.templates["ns/t"] = changed
	}
	change(func(t *resourceapi.ResourceClaimTemplate) { t.UID = "1" })
	counter, of := needs.New(), job(pods(1, fromTemplate("t")))
	var n *needs.Counted
	for range 2 { // the first time, it also learns what there is to count
		counter.Begin(w.inputs())
		n = counter.Of(of, alone, n)
	}
	for name, c := range map[string]struct {
		change func(*resourceapi.ResourceClaimTemplate)
		anew   bool
	}{
		"a label": {func(t *resourceapi.ResourceClaimTemplate) { t.Labels = map[string]string{"other": "label"} }, false},
		"the most that it may give": {func(t *resourceapi.ResourceClaimTemplate) {
			t.Annotations = map[string]string{needs.MaxDevicesAnnotation: "2"}
		}, true},
		"another one takes its place": {func(t *resourceapi.ResourceClaimTemplate) { t.UID = "2" }, true},
	} {
		before := w.templates["ns/t"]
		change(c.change)
		counter.Begin(w.inputs())
		if anew := counter.Of(of, alone, n) != n; anew != c.anew {
			t.Errorf("%s: counted anew: %t", name, anew)
		}
		w.templates["ns/t"] = before
	}
}

// TestAClaimTemplateIsCountedOnce: a pod may name a template twenty thousand times, and users can trigger a count at any time.
func TestAClaimTemplateIsCountedOnce(t *testing.T) {
	long := claimTemplate("t", nil, slices.Repeat([]resourceapi.DeviceRequest{firstAvailable(slices.Repeat([]resourceapi.DeviceRequest{exactly("a", 1)}, 8)...)}, 32)...)
	w := newWorld(class("a"), capacity("a", "memory", "1Gi"), long)
	counter := needs.New()
	counter.Begin(w.inputs())
	once := testing.AllocsPerRun(1, func() { counter.Of(job(pods(1, fromTemplate("t"))), alone, nil) })
	often := job(pods(1, func(p *corev1.PodTemplateSpec) {
		for range 1000 {
			fromTemplate("t")(p)
		}
	}), pods(1, fromTemplate("t")))
	var n *needs.Counted
	if allocs := testing.AllocsPerRun(1, func() { n = counter.Of(often, alone, nil) }); allocs > 3*once+1000 {
		t.Errorf("there are %.0f allocations, and %.0f for one claim", allocs, once)
	}
	if got := textOf(counter, n.Needs); got != "a=32032 pods=2 without a/memory" {
		t.Errorf("got %s", got)
	}
	long(w) // another template of this name, different from the cached one
	w.templates["ns/t"].Spec.Spec.Devices.Requests = w.templates["ns/t"].Spec.Spec.Devices.Requests[:1]
	counter.Begin(w.inputs())
	if got := textOf(counter, counter.Of(often, alone, n).Needs); got != "a=1001 pods=2 without a/memory" {
		t.Errorf("after the template was replaced, got %s", got)
	}
}

// TestAClaimThatManyWorkloadsNameIsCountedOnce: its user changes one claim, and all workloads that name it are counted anew.
func TestAClaimThatManyWorkloadsNameIsCountedOnce(t *testing.T) {
	w := newWorld(class("a"), capacity("a", "memory", "1Gi"))
	var names []func(*corev1.PodTemplateSpec)
	for i := range 64 {
		name := fmt.Sprint("c", i)
		namedClaim(name, slices.Repeat([]resourceapi.DeviceRequest{firstAvailable(slices.Repeat([]resourceapi.DeviceRequest{exactly("a", 1)}, 8)...)}, 32)...)(w)
		names = append(names, sharing(name))
	}
	counter, n := needs.New(), (*needs.Counted)(nil)
	count := func(name string, changed func(claim string) bool) float64 {
		return testing.AllocsPerRun(1, func() {
			for claim, object := range w.claims {
				if changed(claim) {
					w.claims[claim] = object.DeepCopy()
				}
			}
			counter.Begin(w.inputs())
			n = counter.Of(job(pods(1, names...)), alone, n)
			if got := textOf(counter, n.Needs); n.Err != nil || got != "a=2048 pods=1 without a/memory" {
				t.Errorf("%s: got %s, %v", name, got, n.Err)
			}
		})
	}
	all := count("all claims are new", func(string) bool { return true })
	if one := count("one claim is new", func(claim string) bool { return claim == "ns/c7" }); one > all/20 {
		t.Errorf("there are %.0f allocations when one of 64 claims has changed, and %.0f when all have", one, all)
	}
}

// TestAWorkloadNamesNotTooManyClaims: each of them is read in every cycle.
func TestAWorkloadNamesNotTooManyClaims(t *testing.T) {
	w := newWorld(class("a"))
	var sets []workload.PodSet
	for i := range 65 {
		name := fmt.Sprint("c", i)
		namedClaim(name, exactly("a", 1))(w)
		sets = append(sets, pods(1, sharing(name)))
	}
	if counter, n, err := w.counted(t, job(slices.Repeat(sets[1:], 2)...), alone); err != nil || textOf(counter, n) != "a=64 pods=128" {
		t.Errorf("64 claims, each named twice: got %s, %v", textOf(counter, n), err)
	}
	const want = "its pod templates name more than 64 ResourceClaims: use a ResourceClaimTemplate, or request more devices in one claim"
	if _, _, err := w.counted(t, job(sets...), alone); err == nil || err.Error() != want {
		t.Errorf("65 claims: %v", err)
	}
}

// TestAWorkloadNamesNotTooManyClaimTemplates: a user changes one of them, and all workloads that name it are counted anew.
func TestAWorkloadNamesNotTooManyClaimTemplates(t *testing.T) {
	w := newWorld(class("a"))
	var sets []workload.PodSet
	for i := range 65 {
		name := fmt.Sprint("t", i)
		claimTemplate(name, nil, exactly("a", 1))(w)
		sets = append(sets, pods(1, fromTemplate(name)))
	}
	if counter, n, err := w.counted(t, job(slices.Repeat(sets[1:], 2)...), alone); err != nil || textOf(counter, n) != "a=128 pods=128" {
		t.Errorf("64 claim templates, each named twice: got %s, %v", textOf(counter, n), err)
	}
	const want = "its pod templates name more than 64 ResourceClaimTemplates: use the same one for pods that request the same"
	if _, _, err := w.counted(t, job(sets...), alone); err == nil || err.Error() != want {
		t.Errorf("65 claim templates: %v", err)
	}
}
