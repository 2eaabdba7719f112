// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// newBooks returns a ledger with queues a and b below root, and one dimension.
func newBooks(t *testing.T) (*ledger.Ledger, map[string]ledger.QueueID, ledger.Ordinal) {
	t.Helper()
	var dimensions ledger.Dimensions
	device := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
	l, aside := ledger.New(&dimensions, nil, []ledger.QueueSpec{{Name: "root"}, {Name: "a", Parent: "root"}, {Name: "b", Parent: "root"}})
	if len(aside) > 0 {
		t.Fatal(aside)
	}
	queues := map[string]ledger.QueueID{}
	for _, name := range []string{"root", "a", "b"} {
		queues[name], _ = l.Queue(name)
	}
	return l, queues, device
}

// TestNothingOutsideChangesACharge changes everything that a caller can access between the charge and the release.
func TestNothingOutsideChangesACharge(t *testing.T) {
	nine := ledger.Units(9)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, l *ledger.Ledger, p *ledger.Part, in ledger.Amounts)
	}{
		{"the list that the part was made from", func(_ *testing.T, _ *ledger.Ledger, _ *ledger.Part, in ledger.Amounts) { in[0].Amount = nine }},
		{"the list that the part returns", func(_ *testing.T, _ *ledger.Ledger, p *ledger.Part, _ ledger.Amounts) { p.Amounts()[0].Amount = nine }},
		{"a sum that starts with the list of the part", func(t *testing.T, _ *ledger.Ledger, p *ledger.Part, in ledger.Amounts) {
			if _, err := p.Amounts().PlusAll(in); err != nil {
				t.Fatal(err)
			}
		}},
		{"a sum that the part is added to", func(t *testing.T, _ *ledger.Ledger, p *ledger.Part, _ ledger.Amounts) {
			sum, err := ledger.Amounts(nil).PlusPart(p)
			if err != nil {
				t.Fatal(err)
			}
			sum[0].Amount = nine
		}},
		{"what the release would free", func(_ *testing.T, l *ledger.Ledger, p *ledger.Part, _ ledger.Amounts) {
			freed := l.Frees("pod", ledger.Demand{p})
			for i := range freed {
				freed[i].Amount = nine
			}
		}},
		{"a twin", func(t *testing.T, l *ledger.Ledger, p *ledger.Part, in ledger.Amounts) {
			twin := p.Twin()
			if err := l.Amend(&twin, ledger.Amounts{{Dimension: in[0].Dimension, Amount: nine}}); err != nil {
				t.Fatal(err)
			}
		}},
		{"the list that the part is amended to", func(t *testing.T, l *ledger.Ledger, p *ledger.Part, in ledger.Amounts) {
			to := ledger.Amounts{{Dimension: in[0].Dimension, Amount: ledger.Units(5)}}
			if err := l.Amend(p, to); err != nil {
				t.Fatal(err)
			}
			to[0].Amount = nine
		}},
		{"the part, in a ledger in which it is not charged", func(t *testing.T, _ *ledger.Ledger, p *ledger.Part, in ledger.Amounts) {
			other, _, _ := newBooks(t)
			if err := other.Amend(p, ledger.Amounts{{Dimension: in[0].Dimension, Amount: nine}}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, queues, device := newBooks(t)
			in := ledger.Amounts{{Dimension: device, Amount: ledger.Units(2)}}
			part := ledger.NewPart(in)
			for _, charge := range []struct {
				queue  string
				holder ledger.Holder
			}{{"a", "pod"}, {"b", "other"}} {
				if charge.holder == "other" {
					c.change(t, l, part, in)
				}
				if err := l.Charge(queues[charge.queue], charge.holder, ledger.Demand{part}); err != nil {
					t.Fatal(err)
				}
			}
			c.change(t, l, part, in)
			for _, holder := range []ledger.Holder{"pod", "other"} {
				if err := l.Release(part, holder); err != nil {
					t.Fatal(err)
				}
			}
			for name, queue := range queues {
				if left := l.Balance(queue, ledger.Allocated, device); left != (ledger.Amount{}) {
					t.Errorf("queue %s still has %s", name, left)
				}
			}
		})
	}
}

// TestAViewGivesBackWhatWasCharged checks that a change of the base does not affect a charge in a view.
func TestAViewGivesBackWhatWasCharged(t *testing.T) {
	l, queues, device := newBooks(t)
	part := ledger.NewPart(ledger.Amounts{{Dimension: device, Amount: ledger.Units(2)}})
	view := l.View()
	if err := view.Charge(queues["a"], "pod", ledger.Demand{part}); err != nil {
		t.Fatal(err)
	}
	if err := l.Amend(part, ledger.Amounts{{Dimension: device, Amount: ledger.Units(9)}}); err != nil {
		t.Fatal(err)
	}
	if err := view.Release(part, "pod"); err != nil {
		t.Fatal(err)
	}
	if left := view.Balance(queues["root"], ledger.Allocated, device); left != (ledger.Amount{}) {
		t.Errorf("root still has %s", left)
	}
}

// TestChangesThatWouldBreakTheBooks checks that bad calls return errors and change nothing.
func TestChangesThatWouldBreakTheBooks(t *testing.T) {
	l, queues, device := newBooks(t)
	two := ledger.Amounts{{Dimension: device, Amount: ledger.Units(2)}}
	open := ledger.NewPart(nil, two, two)
	for _, c := range []struct {
		name string
		got  error
		want error
	}{
		{"a part with alternatives is charged", l.Charge(queues["a"], "pod", ledger.Demand{open}), ledger.ErrOpen},
		{"a part with alternatives is amended", l.Amend(open, two), ledger.ErrOpen},
		{"a part is amended in a view", l.View().Amend(ledger.NewPart(two), nil), ledger.ErrView},
		{"amounts are added to an account of a view", l.View().Add(queues["a"], ledger.Inqueue, two), ledger.ErrView},
		{"amounts are added to what is allocated", l.Add(queues["a"], ledger.Allocated, two), ledger.ErrAllocated},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	alternatives := open.Alternatives()
	alternatives[0][0].Amount = ledger.Units(9)
	two[0].Amount = ledger.Units(9)
	if got := open.Alternatives()[0].Of(device); got != ledger.Units(2) {
		t.Errorf("the alternative is %s, want 2", got)
	}
	if l.Balance(queues["root"], ledger.Allocated, device) != (ledger.Amount{}) || l.Balance(queues["root"], ledger.Inqueue, device) != (ledger.Amount{}) {
		t.Error("the accounts are not empty")
	}
}

func TestPart(t *testing.T) {
	_, _, device := newBooks(t)
	two := ledger.Amounts{{Dimension: device, Amount: ledger.Units(2)}}
	made, zero := ledger.MakePart(two, two), ledger.Part{}
	twin := made.Twin()
	if !made.Is(two) || !twin.Is(two) || twin.Of(device) != ledger.Units(2) || len(twin.Alternatives()) != 0 || len(made.Alternatives()) != 1 {
		t.Errorf("made %v, twin %v", made.Amounts(), twin.Amounts())
	}
	if !zero.Is(nil) || zero.Amounts() != nil || zero.Alternatives() != nil || zero.Is(two) {
		t.Error("the zero value is not empty")
	}
}

func TestAPartHasNoExportedField(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ledger.Part]()) {
		if field.IsExported() {
			t.Errorf("field %s is exported", field.Name)
		}
	}
}

// TestWhatDoesNotCompile type-checks snippets against the sources of the package.
func TestWhatDoesNotCompile(t *testing.T) {
	fset := token.NewFileSet()
	check := func(path string, imports types.Importer, files ...*ast.File) (*types.Package, error) {
		return (&types.Config{Importer: imports}).Check(path, fset, files, nil)
	}
	source := importer.ForCompiler(fset, "source", nil)
	directory, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range directory.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	room, err := check("ledger", source, files...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		statement string
		compiles  bool
	}{
		{"_ = p.Amounts()", true},
		{"p.amounts = nil", false},
		{"p.amounts[0] = ledger.Entry{}", false},
		{"p.alternatives = nil", false},
		{"p.Amounts = nil", false},
		{"p.Amounts() = nil", false},
		{"_ = ledger.Part{amounts: nil}", false},
		{"_ = ledger.Part{ledger.Amounts{}}", false},
	} {
		text := "package other\nimport \"ledger\"\nfunc f(p *ledger.Part) {\n" + c.statement + "\n}"
		file, err := parser.ParseFile(fset, "snippet.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := check("other", only{room}, file); (err == nil) != c.compiles {
			t.Errorf("%s: %v, want that it compiles: %t", c.statement, err, c.compiles)
		}
	}
}

// only imports a single package.
type only struct{ *types.Package }

func (o only) Import(string) (*types.Package, error) { return o.Package, nil }
