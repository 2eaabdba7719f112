// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ReasonNoClusterFits is the reason of a refusal: no cluster can hold the largest part of the workload.
const ReasonNoClusterFits = "NoClusterFits"

// mostListed is how many clusters a refusal names, mostShort how many dimensions of each.
const mostListed, mostShort = 3, 2

// refuse says what the clusters lack, those first that lack least. A workload that would fit if others ended keeps those
// behind it that come later in its queue and ask for the same. Otherwise it might wait forever, because smaller ones always find a
// place.
func (s *Session) refuse(w *framework.Workload, need ledger.Amounts) *framework.Refusal {
	s.order = s.order[:0]
	for _, p := range s.members.places {
		if s.members.selectors.admits(p, w) {
			s.order = append(s.order, candidate{p, p.pieces(need, w.Needs.Choices)})
		}
	}
	slices.SortStableFunc(s.order, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(min(1, s.obstacle(a.place, w)), min(1, s.obstacle(b.place, w))), cmp.Compare(b.pieces, a.pieces))
	})
	r := &framework.Refusal{Reason: ReasonNoClusterFits, Message: s.message(w, need)}
	r.Never = len(s.order) > 0
	for _, c := range s.order {
		could := c.cluster.resources == nil || c.couldHold(need, w.Needs.Choices)
		r.Never = r.Never && !could
		if could && r.Scope == (framework.Scope{}) && s.obstacle(c.place, w) == none {
			if short := c.short(need); len(short) > 0 && c.boundOf(short[0].Dimension) == bounded {
				r.Scope = framework.Scope{Queue: w.Queue, Dimension: s.dimensions.Dimension(short[0].Dimension)}
			}
		}
	}
	return r
}

func (s *Session) message(w *framework.Workload, need ledger.Amounts) string {
	const beginning = "no cluster can hold it in one piece: "
	switch {
	case len(s.members.places) == 0:
		return beginning + "there is no cluster: join one"
	case len(s.order) == 0:
		return beginning + "the placement allows no cluster: correct its affinity, or label a cluster so that it matches"
	}
	var clusters []string
	for _, c := range s.order[:min(len(s.order), mostListed)] {
		if o := s.obstacle(c.place, w); o != none {
			clusters = append(clusters, c.explain(o, &w.Binding.Spec))
		} else {
			clusters = append(clusters, s.shortage(c.place, need))
		}
	}
	if more := len(s.order) - len(clusters); more > 0 {
		clusters = append(clusters, fmt.Sprintf("%d more clusters cannot either", more))
	}
	return beginning + strings.Join(clusters, "; ") + ": wait until something ends there, add nodes, or make its largest part smaller"
}

// shortage says what a cluster lacks.
func (s *Session) shortage(p *place, need ledger.Amounts) string {
	name := p.object.Name
	var lacks []string
	short := p.short(need)
	for _, e := range short[:min(len(short), mostShort)] {
		dimension := s.dimensions.Dimension(e.Dimension)
		if p.boundOf(e.Dimension) == awaited {
			return fmt.Sprintf("the cards and devices of cluster %s are still being read", name)
		}
		free := p.freeOf(e.Dimension)
		if free.Sign() < 0 {
			free = ledger.Amount{}
		}
		lacks = append(lacks, fmt.Sprintf("<%s> of <%s> free, requested <%s>", dimension.Format(free), dimension, dimension.Format(e.Amount)))
	}
	return fmt.Sprintf("cluster %s has %s", name, strings.Join(lacks, ", and "))
}

// short returns the amounts that do not fit, in the order of the need.
func (p *place) short(need ledger.Amounts) ledger.Amounts {
	var short ledger.Amounts
	for _, e := range need {
		if !p.fits(e) {
			short = append(short, e)
		}
	}
	return short
}
