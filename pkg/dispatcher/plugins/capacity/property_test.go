// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// model is a simple account of the grants: it adds up all grants at each request.
type model struct {
	*scene
	parent     map[string]string
	capability map[string]int64
	random     *rand.Rand
}

func newModel(seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{scene: newScene(with(fmt.Sprintf("reclaim: %t", r.IntN(2) == 0))), parent: map[string]string{}, capability: map[string]int64{}, random: r}
	names := []string{"root"}
	for i := range 3 + r.IntN(6) {
		name, parent := fmt.Sprintf("q%d", i), names[r.IntN(len(names))]
		words := []string{"parent=" + parent}
		if r.IntN(3) > 0 {
			m.capability[name] = 1 + int64(r.IntN(20)) // zero means no limit in Volcano
			words = append(words, fmt.Sprintf("cpu=%d", m.capability[name]))
		}
		if m.capability[name] > 1 {
			words = append(words, fmt.Sprintf("deserved:cpu=%d", 1+r.Int64N(m.capability[name])))
		}
		queue(name, words...)(m.scene)
		m.parent[name], names = parent, append(names, name)
	}
	for i := range 5 + r.IntN(20) {
		job(fmt.Sprintf("w%d", i), names[1+r.IntN(len(names)-1)], 1+int64(r.IntN(8)))(m.scene)
	}
	return m
}

// cpus returns the cpus that a workload may use by its grant.
func cpus(w *framework.Workload) int64 {
	if w.State.Grant == nil || w.State.Finished {
		return 0
	}
	for _, a := range w.State.Grant.Amounts {
		if a.Dimension.Name == "cpu" {
			return a.Amount.Shares(1, 1<<40)
		}
	}
	return 0
}

// granted returns the cpus that a queue and its descendants have granted.
func (m *model) granted(queue string) int64 {
	var sum int64
	for _, w := range m.workloads {
		for q := w.Queue; q != ""; q = m.parent[q] {
			if q == queue {
				sum += cpus(w)
			}
		}
	}
	return sum
}

// fits reports whether a workload may have more cpus.
func (m *model) fits(w *framework.Workload, more int64) bool {
	for q := w.Queue; q != ""; q = m.parent[q] {
		if limit, limited := m.capability[q]; limited && m.granted(q)+more > limit {
			return false
		}
		if q != w.Queue {
			continue
		}
		for _, parent := range m.parent {
			if parent == q {
				return false // only leaves take workloads
			}
		}
	}
	return true
}

// change makes a change that the plugin does not decide.
func (m *model) change() {
	w := m.workloads[m.random.IntN(len(m.workloads))]
	set := &w.Template.Pods[0]
	template := *w.Template
	template.Pods = append(template.Pods[:0:0], *set)
	switch {
	case w.State.Grant == nil || w.State.Hold != nil || w.State.Finished:
		return
	case m.random.IntN(4) == 0:
		w.State.Finished = true
	case m.random.IntN(2) == 0: // it grows, and the webhook holds that
		template.Pods[0].Count += 1 + m.random.Int64N(4)
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
		w.Template = &template
	case set.Count > 1: // it shrinks, and the dispatcher patches the grant
		template.Pods[0].Count--
		w.Template = &template
		count := template.Pods[0].Count
		w.State.Grant = &binding.Grant{Queue: w.Queue, Amounts: []binding.Amount{amountOf("cpu", count), amountOf("pods", count)}}
	}
}

// cycle decides about all waiting workloads in random order, and applies the decisions.
func (m *model) cycle(t *testing.T) {
	session, p := m.open(t)
	victims := map[*framework.Workload]bool{}
	for _, i := range m.random.Perm(len(m.workloads)) {
		w := m.workloads[i]
		switch {
		case victims[w]:
		case w.State.Grant == nil || w.Grows():
			more := w.Template.Pods[0].Count - cpus(w)
			refusal := p.allocatable(w)
			if (refusal == nil) != m.fits(w, more) {
				t.Fatalf("%s asks for %d more cpus in queue %s: %v, but the model says %t\n%s", w.Name(), more, w.Queue, refusal, m.fits(w, more), p.books.Describe())
			}
			if refusal == nil {
				p.books.allocate(w)
				w.State = binding.State{MayRun: true, Grant: &binding.Grant{Queue: w.Queue, Amounts: needs.ToGrant(session.Dimensions, w.Needs.All)}}
			} else if p.mayReclaim {
				for _, victim := range p.reclaim.victims(w) {
					victims[victim] = true
				}
			}
		}
	}
	for w := range victims {
		p.books.deallocate(w)
		w.State = binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}
	}
	cpuOrdinal := session.Dimensions.Ordinal(ledger.Dimension{Name: "cpu"})
	for q, limit := range m.capability {
		if id, found := p.books.Queue(q); found && (m.granted(q) > limit || p.books.Used(id, cpuOrdinal).Cmp(ledger.Units(limit)) > 0) {
			t.Fatalf("queue %s was granted %d cpus of %d", q, m.granted(q), limit)
		}
	}
	m.compare(t, p)
}

// compare compares the ledger with the ledger of the next session.
func (m *model) compare(t *testing.T, p *plugin) {
	_, next := m.open(t)
	if got, want := p.books.Describe(), next.books.Describe(); got != want {
		t.Fatalf("the ledger of the session is\n%s\nthat of the next one\n%s", got, want)
	}
}

func TestNoQueueIsGrantedMoreThanItsCapability(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(seed)
			for range 8 {
				m.cycle(t)
				for range 5 {
					m.change()
				}
			}
		})
	}
}
