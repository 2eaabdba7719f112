// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func (s *script) queue(d *datadriven.TestData) ledger.QueueID {
	var name string
	d.ScanArgs(s.t, "queue", &name)
	q, found := s.books.Queue(name)
	if !found {
		d.Fatalf(s.t, "there is no queue %s", name)
	}
	return q
}

func (s *script) holder(d *datadriven.TestData) ledger.Holder {
	var name string
	d.ScanArgs(s.t, "holder", &name)
	return ledger.Holder(name)
}

// demand reads "parts=(a,b)".
func (s *script) demand(d *datadriven.TestData) ledger.Demand {
	var demand ledger.Demand
	for _, a := range d.CmdArgs {
		if a.Key != "parts" {
			continue
		}
		for _, name := range a.Vals {
			if s.parts[name] == nil {
				d.Fatalf(s.t, "there is no part %s", name)
			}
			demand = append(demand, s.parts[name])
		}
	}
	return demand
}

// of reads the amounts of an argument.
func (s *script) of(d *datadriven.TestData, key string) ledger.Amounts {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return s.amounts(d, a.Vals)
		}
	}
	return nil
}

// amounts reads "cpu=4".
func (s *script) amounts(d *datadriven.TestData, words []string) ledger.Amounts {
	as := ledger.Amounts{}
	for _, word := range words {
		var n int64
		name, number, _ := strings.Cut(word, "=")
		if _, err := fmt.Sscan(number, &n); err != nil {
			d.Fatalf(s.t, "%s: %v", word, err)
		}
		as = append(as, ledger.Entry{Dimension: s.dimensions.Ordinal(dimension(name)), Amount: ledger.Units(n)})
	}
	return as
}

// dimension returns a card for a name with a capital letter, a resource for cpu, and a device class for other names.
func dimension(name string) ledger.Dimension {
	switch {
	case strings.ToLower(name) != name:
		return ledger.Dimension{Kind: ledger.Card, Name: name}
	case name == "cpu":
		return ledger.Dimension{Kind: ledger.Resource, Name: name}
	default:
		return ledger.Dimension{Kind: ledger.DeviceCount, Name: name}
	}
}
