// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
)

// standingOf returns the figures of a queue in one dimension as text.
func standingOf(queues []v1alpha1.Queue, queue, dimension string) string {
	for _, q := range queues {
		for i := range q.Figures {
			f := &q.Figures[i]
			if q.Name != queue || f.Dimension.String() != dimension {
				continue
			}
			text := fmt.Sprintf("allocated %s, inqueue %s, request %s", f.Allocated.String(), f.Inqueue.String(), f.Request.String())
			for _, limit := range []struct {
				name  string
				value *resource.Quantity
			}{{"capability", f.Capability}, {"deserved", f.Deserved}, {"guarantee", f.Guarantee}, {"limit", f.Limit}} {
				if limit.value != nil {
					text += fmt.Sprintf(", %s %s", limit.name, limit.value)
				}
			}
			return text + " of " + f.LimitedBy
		}
	}
	return "nothing"
}

func TestWhatIsToldIsWhatTheLedgerHas(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("team", "ml", capped(6))
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"ml": {Capability: counts(3)}, "team": {Deserved: counts(2), Guarantee: counts(1)}})
	s.job("holder", "team", running, nil, s.claimed(2, newPod("holder", "n1", cpu(1))))
	s.job("late", "team", inqueue, nil, s.claimed(2, newPod("late", "", cpu(2))))
	ssn := s.act(t)
	p := pluginOf(ssn)
	p.report()

	described := p.described()
	queues := described.Queues()
	var names []string
	for _, q := range queues {
		names = append(names, q.Parent+"/"+q.Name)
	}
	if got, want := strings.Join(names, " "), "/root root/ml ml/team"; got != want {
		t.Errorf("the queues are %s, want %s", got, want)
	}
	for _, c := range []struct{ queue, dimension, want string }{
		{"team", h100, "allocated 2, inqueue 2, request 4, deserved 2, guarantee 1, limit 3 of ml"},
		{"ml", h100, "allocated 2, inqueue 2, request 4, capability 3, limit 3 of ml"},
		{"team", "cpu", "allocated 1, inqueue 0, request 3, capability 6, limit 6 of team"},
		{"root", "cpu", "allocated 1, inqueue 0, request 3, limit 8 of "},
	} {
		if got := standingOf(queues, c.queue, c.dimension); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.dimension, c.queue, got, c.want)
		}
	}
	if team := queues[2]; team.WaitingPods != 1 || team.RunningPods != 1 || team.Jobs["Running"] != 1 || team.Jobs["Inqueue"] != 1 {
		t.Errorf("queue team has %+v", team)
	}

	var totals []string
	var cluster describe.Cluster
	described.Count(&cluster, 0)
	for _, t := range cluster.Totals {
		totals = append(totals, fmt.Sprintf("%s: %s of %s used, %s free, %s on one node", t.Dimension, t.Used.String(), t.Total.String(), t.Free.String(), t.LargestFree.String()))
	}
	if got, want := strings.Join(totals, "; "), "cpu: 1 of 8 used, 7 free, 7 on one node; memory: 0 of 8Gi used, 8Gi free, 8Gi on one node; pods: 1 of 50 used, 49 free, 49 on one node"; got != want {
		t.Errorf("the cluster has %s, want %s", got, want)
	}

	holders, charged := described.Holders()
	if len(holders) != 1 || holders[0].Name != "holder" || holders[0].Queue != "team" || holders[0].State != v1alpha1.Holds || holders[0].Node != "n1" || holders[0].Workload != "holder" {
		t.Fatalf("the holders are %+v", holders)
	}
	if got := fmt.Sprint(textOf(holders[0].Charged)); got != "[cpu=1 h100=2 pods=1]" {
		t.Errorf("the holder is charged %s", got)
	}
	workloads := described.Workloads(charged, nil)
	if len(workloads) != 2 {
		t.Fatalf("the workloads are %+v", workloads)
	}
	late := workloads[0]
	if late.Name != "late" {
		late = workloads[1]
	}
	want := "Queue <ml> has insufficient <h100> quota: requested <2>, total would be <4>, but capability is <3>"
	if w := late.Waits; w == nil || w.Message != want || w.Queue != "ml" || w.Dimension.Name != h100 || w.Requested != "2" || w.WouldBe != "4" || w.Limit != "3" || w.Pods != 1 {
		t.Errorf("workload late waits: %+v", late.Waits)
	}
}

// TestAWorkloadDoesNotWaitForWhatAPodWaitedForThatRunsNow: a pod may be refused, and get a node later in the same session.
func TestAWorkloadDoesNotWaitForWhatAPodWaitedForThatRunsNow(t *testing.T) {
	for _, alsoRefused := range []bool{false, true} {
		s := newFixture(8).queue("root", "", nil).queue("team", "root", nil)
		s.job("grows", "team", running, nil, newPod("ran", "n1", cpu(1)), newPod("late", "", cpu(1)))
		ssn := s.open(t)
		p, job := pluginOf(ssn), ssn.Jobs["ns/grows"]
		p.cache.report.RefusePod(job, taskOf(ssn, "ran"), explain.Unreported("for the pod that runs now"))
		if alsoRefused {
			p.cache.report.RefusePod(job, taskOf(ssn, "late"), explain.Unreported("for the pod that waits"))
		}
		p.cache.report.Refusals(ssn.Jobs)
		switch waits := p.described().Workloads(nil, nil)[0].Waits; {
		case !alsoRefused && waits != nil:
			t.Errorf("the workload waits: %+v", waits)
		case alsoRefused && (waits == nil || waits.Message != "for the pod that waits" || waits.Pods != 1):
			t.Errorf("the workload waits: %+v, want 1 pod for the reason of the pod that waits", waits)
		}
	}
}

// textOf returns amounts as text, sorted by name.
func textOf(amounts []v1alpha1.Amount) []string {
	byName := map[string]string{}
	for _, a := range amounts {
		byName[a.Dimension.String()] = a.Amount.String()
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, name+"="+byName[name])
	}
	return all
}

// BenchmarkTell measures what a session with 1,000 queues and 10,000 pods takes to publish its state: nothing unless a user asks.
func BenchmarkTell(b *testing.B) {
	s := newFixture().queue("root", "", nil)
	for i := range 1000 {
		s.Nodes = append(s.Nodes, newFixture(16).Nodes...)
		s.Nodes[i].Name = fmt.Sprint("n", i)
		s.queue(fmt.Sprint("q", i), "root", capped(100))
		var pods []*corev1.Pod
		for j := range 10 {
			pods = append(pods, newPod(fmt.Sprintf("p%d-%d", i, j), fmt.Sprint("n", i), cpu(1)))
		}
		s.job(fmt.Sprint("j", i), fmt.Sprint("q", i), running, nil, pods...)
	}
	ssn := s.open(b)
	p := pluginOf(ssn)
	p.cache.publisher.Record(p.described().Allocated()) // the history is due once a minute
	measure(b, "asked=no", func(*testing.B) { p.tellAskers() })
	measure(b, "asked=yes", func(*testing.B) { p.described().Published() })
	measure(b, "history", func(*testing.B) { p.described().Allocated() })
}
