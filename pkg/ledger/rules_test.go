// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestRules runs the files in testdata. Each file shows one rule. To rewrite the expected output, run
//
//	go test ./pkg/ledger -run TestRules -rewrite
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t, parts: map[string]*ledger.Part{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

// script holds what the commands of a file have built so far.
type script struct {
	t          *testing.T
	dimensions ledger.Dimensions
	books      *ledger.Ledger
	// base is the ledger that books is a view of. It is nil if books is not a view.
	base  *ledger.Ledger
	parts map[string]*ledger.Part
	// names lists the parts in the order in which they were made.
	names []string
}

func (s *script) run(d *datadriven.TestData) string {
	commands := map[string]func(*datadriven.TestData) string{
		"tree": s.tree, "part": s.part, "fits": s.fits, "choose": s.choose, "charge": s.charge, "release": s.release, "amend": s.amend,
		"add": s.add, "enter": s.enter, "available": s.available, "split": s.split, "view": s.view, "end-view": s.endView, "describe": s.describe,
	}
	command := commands[d.Cmd]
	if command == nil {
		d.Fatalf(s.t, "there is no command %s", d.Cmd)
	}
	return command(d)
}

// tree makes the ledger. Each line lists a queue and its limits: "team parent=ml capability=(cpu=4,h100=2)".
func (s *script) tree(d *datadriven.TestData) string {
	var specs []ledger.QueueSpec
	var total ledger.Amounts
	for line := range strings.Lines(d.Input) {
		name, arguments, err := datadriven.ParseLine(line)
		if err != nil {
			d.Fatalf(s.t, "%s: %v", line, err)
		}
		spec := ledger.QueueSpec{Name: name}
		for _, a := range arguments {
			switch a.Key {
			case "parent":
				spec.Parent = a.Vals[0]
			case "capability":
				spec.Capability = s.amounts(d, a.Vals)
			case "deserved":
				spec.Deserved = s.amounts(d, a.Vals)
			case "guarantee":
				spec.Guarantee = s.amounts(d, a.Vals)
			case "lists-cards":
				spec.ListsCards = true
			case "total":
				total = s.amounts(d, a.Vals)
			default:
				d.Fatalf(s.t, "a queue has no %s", a.Key)
			}
		}
		if name != "cluster" {
			specs = append(specs, spec)
		}
	}
	books, aside := ledger.New(&s.dimensions, total, specs)
	if len(aside) > 0 {
		d.Fatalf(s.t, "set aside: %v", aside)
	}
	s.books = books
	return books.Describe()
}

// part makes a part: "part claim amounts=(h100=1) either=(cpu=4) either=(gpu=4)".
func (s *script) part(d *datadriven.TestData) string {
	var as ledger.Amounts
	var alternatives []ledger.Amounts
	for _, a := range d.CmdArgs[1:] {
		if a.Key == "either" {
			alternatives = append(alternatives, s.amounts(d, a.Vals))
		} else {
			as = s.amounts(d, a.Vals)
		}
	}
	name := d.CmdArgs[0].Key
	s.parts[name], s.names = ledger.NewPart(as, alternatives...), append(s.names, name)
	return s.line(name)
}

func (s *script) fits(d *datadriven.TestData) string {
	return answer(s.books.Fits(s.queue(d), s.demand(d)))
}

func (s *script) choose(d *datadriven.TestData) string {
	choice, refusal, err := s.books.Choose(s.queue(d), s.demand(d))
	if refusal != nil || err != nil {
		return answer(refusal, err)
	}
	return fmt.Sprintln("chosen:", choice)
}

func (s *script) charge(d *datadriven.TestData) string {
	return s.after(s.books.Charge(s.queue(d), s.holder(d), s.demand(d)))
}

func (s *script) release(d *datadriven.TestData) string {
	return s.after(s.books.Release(s.demand(d)[0], s.holder(d)))
}

func (s *script) amend(d *datadriven.TestData) string {
	return s.after(s.books.Amend(s.demand(d)[0], s.of(d, "to")))
}

func (s *script) add(d *datadriven.TestData) string {
	accounts := []ledger.Account{ledger.Allocated, ledger.Inqueue, ledger.Elastic, ledger.Request}
	for _, account := range accounts {
		if d.HasArg(account.String()) {
			if err := s.books.Add(s.queue(d), account, s.of(d, account.String())); err != nil {
				return err.Error() + "\n"
			}
		}
	}
	return s.books.Describe()
}

func (s *script) enter(d *datadriven.TestData) string {
	return answer(s.books.FitsInqueue(s.queue(d), s.of(d, "minimum")))
}

func (s *script) available(d *datadriven.TestData) string {
	var lines strings.Builder
	for o := range ledger.Ordinal(s.dimensions.Len()) {
		limit, err := s.books.Available(s.queue(d), o)
		value := "unlimited"
		if limit.Set {
			value = s.books.Dimension(o).Format(limit.Amount)
		}
		if err != nil {
			value = err.Error()
		}
		fmt.Fprintf(&lines, "%s: %s\n", s.books.Dimension(o), value)
	}
	return lines.String()
}

// split checks whether a job can enter with shares: "split queue=q shares=6 each=1 among=(A,B)".
func (s *script) split(d *datadriven.TestData) string {
	split := ledger.Split{Each: 1}
	d.ScanArgs(s.t, "shares", &split.Shares)
	d.MaybeScanArgs(s.t, "each", &split.Each)
	for _, a := range d.CmdArgs {
		if a.Key == "among" {
			for _, name := range a.Vals {
				split.Among = append(split.Among, s.dimensions.Ordinal(dimension(name)))
			}
		}
	}
	taken, refusal, err := s.books.FitsInqueueSplit(s.queue(d), nil, []ledger.Split{split})
	if refusal != nil || err != nil {
		return answer(refusal, err)
	}
	var words []string
	for _, e := range taken {
		words = append(words, fmt.Sprintf("%s %s", s.books.Dimension(e.Dimension), e.Amount))
	}
	return "takes " + strings.Join(words, ", ") + "\n"
}

func (s *script) view(*datadriven.TestData) string {
	s.base, s.books = s.books, s.books.View()
	return s.all()
}

func (s *script) endView(*datadriven.TestData) string {
	s.base, s.books = nil, s.base
	return s.all()
}

func (s *script) describe(*datadriven.TestData) string {
	return s.all()
}

func (s *script) all() string {
	var parts []*ledger.Part
	for _, name := range s.names {
		parts = append(parts, s.parts[name])
	}
	return s.books.Describe(parts...)
}

func (s *script) line(name string) string {
	lines := strings.SplitAfter(s.all(), "\n")
	return lines[len(lines)-1-len(s.names)+slices.Index(s.names, name)]
}

// after returns the state after a change, or its error.
func (s *script) after(err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	return s.all()
}

func answer(refusal *ledger.Refusal, err error) string {
	switch {
	case err != nil:
		return err.Error() + "\n"
	case refusal != nil:
		return refusal.String() + "\n"
	default:
		return "fits\n"
	}
}
