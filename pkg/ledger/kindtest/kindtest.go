// SPDX-License-Identifier: Apache-2.0

// Package kindtest checks all code that writes or reads dimensions against the table of kinds.
package kindtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Form is a representation of dimensions, such as an annotation, metric labels, or a field of an object.
type Form[T comparable] struct {
	// Write returns the representation of a dimension. The zero value says that the dimension has none, on purpose.
	Write func(ledger.Dimension) (T, error)
	// Read parses the representation. It is nil if no program reads this form.
	Read func(T) (ledger.Dimension, error)
	// Lists says that the package must list new kinds itself. Otherwise, an entry in the table is enough.
	Lists bool
}

// Run checks that the form represents all kinds of the table exactly and rejects unknown kinds. No other test may run at the same time.
func Run[T comparable](t *testing.T, f Form[T]) {
	t.Helper()
	seen := map[T]ledger.Dimension{}
	for kind := range ledger.Kinds {
		for _, d := range samples(ledger.Kind(kind)) {
			if err := f.exact(d, seen); err != nil {
				t.Errorf("this form must know the kind %s: %v", d.Kind, err)
			}
		}
	}
	unknown := samples(ledger.Kind(len(ledger.Kinds)))[0]
	if err := f.exact(unknown, seen); err == nil {
		t.Error("a kind that the table lacks is no error")
	}
	ledger.Kinds = append(ledger.Kinds, ledger.KindInfo{Name: "Slot", Shown: "SlotShown", Labels: []string{"slot", "slot_size"}})
	defer func() { ledger.Kinds = ledger.Kinds[:len(ledger.Kinds)-1] }()
	for _, d := range samples(unknown.Kind) {
		switch err := f.exact(d, seen); {
		case !f.Lists && err != nil:
			t.Errorf("a kind in the table is not enough: %v", err)
		case f.Lists && (err == nil || !strings.Contains(err.Error(), "Slot")):
			t.Errorf("the error of a kind that only the table has is %v, and does not name the kind", err)
		}
	}
}

// exact returns an error if reading does not restore a written dimension, or if another dimension has the same representation.
func (f Form[T]) exact(d ledger.Dimension, seen map[T]ledger.Dimension) error {
	written, err := f.Write(d)
	var none T
	if err != nil || f.Read == nil && written == none {
		return err
	}
	if other, again := seen[written]; again {
		return fmt.Errorf("%+v is written as %+v is: %v", d, other, written)
	}
	seen[written] = d
	if f.Read == nil {
		return nil
	}
	if read, err := f.Read(written); err != nil || read != d {
		return fmt.Errorf("%+v is written as %v and read as %+v: %v", d, written, read, err)
	}
	return nil
}

// samples returns dimensions of a kind, with names that other kinds have as well.
func samples(kind ledger.Kind) []ledger.Dimension {
	var all []ledger.Dimension
	for _, name := range []string{"memory", "cpu", "a.example/b", `"ä`} {
		d := ledger.Dimension{Kind: kind, Name: name}
		if len(d.LabelValues()) < 2 {
			all = append(all, d)
			continue
		}
		for _, capacity := range []string{"memory", "a.example/memory"} {
			d.Capacity = capacity
			all = append(all, d)
		}
	}
	return all
}
