// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// pair holds whole amounts of the two dimensions of the model: cpu, limited by the cluster's total, and a device class,
// which the cluster does not limit. As a limit, -1 means no limit.
type pair [2]int64

var modelDimensions = [2]Dimension{{Kind: Resource, Name: "cpu"}, {Kind: DeviceCount, Name: "h100"}}

// model is the simplest possible ledger. It keeps the holders of each part in order, and computes everything else from them.
type model struct {
	total   int64
	queues  []string
	parents map[string]string
	// capability, deserved and guarantee are the values of the administrator.
	capability, deserved, guarantee map[string]pair

	parts map[string]pair
	holds []modelHold
	added []modelAddition
}

type modelHold struct {
	part   string
	holder Holder
	queue  string
}

type modelAddition struct {
	queues  []string
	account Account
	amounts pair
}

// clone makes the counterpart of a view.
func (m *model) clone() *model {
	c := *m
	c.holds = slices.Clone(m.holds)
	c.parts = maps.Clone(m.parts)
	return &c
}

func (m *model) path(queue string) []string {
	var path []string
	for ; queue != ""; queue = m.parents[queue] {
		path = append(path, queue)
	}
	return path
}

func (m *model) charged(part string) bool {
	return slices.ContainsFunc(m.holds, func(h modelHold) bool { return h.part == part })
}

// add adds amounts to an account of the queue and its ancestors. Of Inqueue, each queue passes on what its limit leaves,
// unless its parent has the same.
func (m *model) add(queue string, account Account, amounts pair) {
	if account != Inqueue {
		m.added = append(m.added, modelAddition{m.path(queue), account, amounts})
		return
	}
	for _, q := range m.path(queue) {
		next := amounts
		for d := range next {
			if limit := m.limit(q, d); limit >= 0 && (m.parents[q] == "" || limit != m.limit(m.parents[q], d)) {
				next[d] = min(next[d], max(limit-m.committed(q, d), 0))
			}
		}
		m.added = append(m.added, modelAddition{[]string{q}, account, amounts})
		amounts = next
	}
}

func (m *model) balance(queue string, account Account, d int) int64 {
	var sum int64
	if account != Allocated {
		for _, p := range m.added {
			if p.account == account && slices.Contains(p.queues, queue) {
				sum += p.amounts[d]
			}
		}
		return sum
	}
	seen := map[string]bool{}
	for _, h := range m.holds {
		if !seen[h.part] && slices.Contains(m.path(h.queue), queue) {
			sum += m.parts[h.part][d]
		}
		seen[h.part] = true
	}
	return sum
}

// guaranteed returns the guarantee, cut to the capability.
func (m *model) guaranteed(queue string, d int) int64 {
	guarantee := m.guarantee[queue][d]
	if own := m.capability[queue][d]; own >= 0 {
		return min(guarantee, own)
	}
	return guarantee
}

// reserved returns the amount that siblings must leave. It is at least the amount reserved for the children, up to the capability.
func (m *model) reserved(queue string, d int) int64 {
	sum := int64(0)
	for _, q := range m.queues {
		if m.parents[q] == queue {
			sum += m.reserved(q, d)
		}
	}
	if own := m.capability[queue][d]; own >= 0 {
		sum = min(sum, own)
	}
	return max(sum, m.guaranteed(queue, d))
}

// limit returns -1 if there is no limit.
func (m *model) limit(queue string, d int) int64 {
	above := int64(-1)
	if d == 0 {
		above = m.total
	}
	if parent := m.parents[queue]; parent != "" {
		above = m.limit(parent, d)
	}
	if above >= 0 {
		reserved := int64(0)
		for _, q := range m.queues {
			if m.parents[q] == m.parents[queue] {
				reserved += m.reserved(q, d)
			}
		}
		above = min(max(above-reserved, 0)+m.reserved(queue, d), max(above, m.guaranteed(queue, d)))
	}
	if own := m.capability[queue][d]; own >= 0 && (above < 0 || own < above) {
		return own
	}
	return above
}

// deserves returns -1 if the queue has no target.
func (m *model) deserves(queue string, d int) int64 {
	deserved := m.deserved[queue][d]
	if limit := m.limit(queue, d); deserved >= 0 && limit >= 0 {
		deserved = min(deserved, limit)
	}
	if guarantee := m.guaranteed(queue, d); guarantee > 0 {
		deserved = max(deserved, guarantee)
	}
	return deserved
}

// asks returns the sum of the parts without a holder, each counted once.
func (m *model) asks(parts []string) pair {
	var asked pair
	for i, part := range parts {
		if !m.charged(part) && !slices.Contains(parts[:i], part) {
			asked[0] += m.parts[part][0]
			asked[1] += m.parts[part][1]
		}
	}
	return asked
}

// refuses returns the name of the lowest queue that has no room for a request, or an empty name if all have room. The
// function returns the amounts that a queue has.
func (m *model) refuses(path []string, asked pair, has func(queue string, d int) int64) string {
	for _, q := range path {
		for d := range asked {
			limit := m.limit(q, d)
			if parent := m.parents[q]; parent != "" && m.limit(parent, d) == limit {
				continue // the parent refuses, see quota
			}
			if limit >= 0 && asked[d] > 0 && has(q, d)+asked[d] > limit {
				return q
			}
		}
	}
	return ""
}

// tight returns the name of the lowest queue that has no room for a request on its own.
func (m *model) tight(path []string, asked pair) string {
	for _, q := range path {
		for d := range asked {
			if limit := m.limit(q, d); limit >= 0 && asked[d] > 0 && m.allocated(q, d)+asked[d] > limit {
				return q
			}
		}
	}
	return ""
}

func (m *model) allocated(queue string, d int) int64 { return m.balance(queue, Allocated, d) }

func (m *model) committed(queue string, d int) int64 {
	return m.balance(queue, Allocated, d) + m.balance(queue, Inqueue, d) - m.balance(queue, Elastic, d)
}

func (m *model) charge(queue string, holder Holder, parts []string) {
	for _, part := range parts {
		if slices.ContainsFunc(m.holds, func(h modelHold) bool { return h.part == part && h.holder == holder }) {
			continue
		}
		charged := queue
		for _, h := range m.holds {
			if h.part == part {
				charged = h.queue // the charge stays where it is
			}
		}
		m.holds = append(m.holds, modelHold{part, holder, charged})
	}
}

// release reports whether the holder held the part.
func (m *model) release(part string, holder Holder) bool {
	before := len(m.holds)
	m.holds = slices.DeleteFunc(m.holds, func(h modelHold) bool { return h.part == part && h.holder == holder })
	return len(m.holds) < before
}

// frees returns the sum of the parts that only this holder has.
func (m *model) frees(holder Holder, parts []string) pair {
	var freed pair
	for i, part := range parts {
		holders := map[Holder]bool{}
		for _, h := range m.holds {
			if h.part == part {
				holders[h.holder] = true
			}
		}
		if holders[holder] && len(holders) == 1 && !slices.Contains(parts[:i], part) {
			freed[0] += m.parts[part][0]
			freed[1] += m.parts[part][1]
		}
	}
	return freed
}

func (m *model) mayReclaim(queue string, asked pair) bool {
	for d := range asked {
		if deserved := m.deserves(queue, d); deserved >= 0 && asked[d] > 0 && m.allocated(queue, d)+asked[d] <= deserved {
			return true
		}
	}
	return false
}

func (m *model) mayLose(queue string, freed pair) bool {
	for d := range freed {
		if guarantee := m.guaranteed(queue, d); guarantee > 0 && m.allocated(queue, d)-freed[d] < guarantee {
			return false
		}
	}
	deservesAny, over := false, false
	for d := range freed {
		if deserved := m.deserves(queue, d); deserved >= 0 && freed[d] > 0 {
			deservesAny = deservesAny || deserved > 0
			over = over || m.allocated(queue, d) > deserved
		}
	}
	return over || !deservesAny
}

func (m *model) share(queue string) float64 {
	share, deservesAny := 0.0, false
	for d := range modelDimensions {
		if deserved := m.deserves(queue, d); deserved > 0 {
			share = max(share, float64(m.allocated(queue, d))/float64(deserved))
			deservesAny = true
		}
	}
	if !deservesAny {
		return 1
	}
	return share
}

// state describes every account, limit and share of every queue. It uses the ledger, or the model if l is nil.
func (m *model) state(l *Ledger) string {
	var out strings.Builder
	for _, name := range m.queues {
		fmt.Fprintf(&out, "%s:", name)
		for d := range modelDimensions {
			for account := range Account(accounts) {
				if l == nil {
					fmt.Fprintf(&out, " %d", m.balance(name, account, d))
				} else {
					fmt.Fprintf(&out, " %s", l.Balance(l.ids[name], account, Ordinal(d)))
				}
			}
			if l == nil {
				fmt.Fprintf(&out, " limit %d deserves %d", m.limit(name, d), m.deserves(name, d))
			} else {
				fmt.Fprintf(&out, " limit %s deserves %s", limitString(l.Limit(l.ids[name], Ordinal(d))), limitString(l.Deserved(l.ids[name], Ordinal(d))))
			}
		}
		share := m.share(name)
		if l != nil {
			share = l.Share(l.ids[name])
		}
		fmt.Fprintf(&out, " share %d\n", int64(math.Round(share*1e9)))
	}
	return out.String()
}

func limitString(l Limit) string {
	if !l.Set {
		return "-1"
	}
	return l.Amount.String()
}
