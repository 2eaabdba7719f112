// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Describe returns the tree as text, for tests and debugging. It shows the limits of each queue, its accounts that are
// not zero, and the payer and the other holders of each of the parts. It sorts siblings and dimensions by name. In a
// view, it shows the accounts and holders of the view.
func (l *Ledger) Describe(parts ...*Part) string {
	d := describer{ledger: l, children: map[QueueID][]QueueID{}}
	for o := range Ordinal(l.dimensions.Len()) {
		d.dimensions = append(d.dimensions, o)
	}
	slices.SortFunc(d.dimensions, func(a, b Ordinal) int {
		one, other := l.Dimension(a), l.Dimension(b)
		return cmp.Or(strings.Compare(one.String(), other.String()), cmp.Compare(one.Kind, other.Kind))
	})
	for i := range l.queues {
		parent := l.queues[i].parent
		d.children[parent] = append(d.children[parent], QueueID(i))
	}
	for _, siblings := range d.children {
		slices.SortFunc(siblings, func(a, b QueueID) int { return strings.Compare(l.Name(a), l.Name(b)) })
	}
	d.queues(none)
	for i, p := range parts {
		d.part(i, p)
	}
	return d.text.String()
}

type describer struct {
	ledger     *Ledger
	dimensions []Ordinal
	children   map[QueueID][]QueueID
	text       strings.Builder
}

func (d *describer) queues(parent QueueID) {
	for _, q := range d.children[parent] {
		d.queue(q)
		d.queues(q)
	}
}

func (d *describer) queue(q QueueID) {
	l := d.ledger
	indent := strings.Repeat("  ", int(l.queues[q].depth))
	fmt.Fprintf(&d.text, "%squeue %s", indent, l.Name(q))
	if l.queues[q].lister == q {
		d.text.WriteString(" (lists cards)")
	}
	d.text.WriteString("\n")
	for _, o := range d.dimensions {
		limits := d.list([]figure{
			{"capability", l.Capability(q, o)}, {"limit", l.Limit(q, o)}, {"deserved", l.Deserved(q, o)}, {"guarantee", l.Guarantee(q, o)},
		}, o)
		var balances []figure
		for account := range Account(accounts) {
			a := l.Balance(q, account, o)
			balances = append(balances, figure{account.String(), Limit{Amount: a, Set: a != Amount{}}})
		}
		if held := d.list(balances, o); limits+held != "" {
			fmt.Fprintf(&d.text, "%s  %s: %s\n", indent, l.Dimension(o), strings.Trim(limits+"; "+held, "; "))
		}
	}
}

// figure is a number with a name. Descriptions leave it out if it is not set.
type figure struct {
	name  string
	value Limit
}

func (d *describer) list(figures []figure, o Ordinal) string {
	var words []string
	for _, f := range figures {
		if f.value.Set {
			words = append(words, f.name+" "+d.ledger.Dimension(o).Format(f.value.Amount))
		}
	}
	return strings.Join(words, ", ")
}

func (d *describer) part(i int, p *Part) {
	l := d.ledger
	c := l.charge(p)
	as := p.amounts
	if len(c.holds) > 0 {
		as = c.amounts
	}
	fmt.Fprintf(&d.text, "part %d: %s", i+1, d.amounts(as))
	for i, alternative := range p.alternatives {
		word := ", and either"
		if i > 0 {
			word = " or"
		}
		fmt.Fprintf(&d.text, "%s %s", word, d.amounts(alternative))
	}
	for i, h := range c.holds {
		if i == 0 {
			fmt.Fprintf(&d.text, "; paid by %s in %s", h.holder, l.Name(h.queue))
		} else {
			fmt.Fprintf(&d.text, "; also held by %s", h.holder)
		}
	}
	if len(c.holds) == 0 {
		d.text.WriteString("; not charged")
	}
	d.text.WriteString("\n")
}

func (d *describer) amounts(as Amounts) string {
	var words []string
	for _, e := range as {
		dimension := d.ledger.Dimension(e.Dimension)
		words = append(words, fmt.Sprintf("%s %s", dimension, dimension.Format(e.Amount)))
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, " + ")
}
