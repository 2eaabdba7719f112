// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

func TestUsage(t *testing.T) {
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	dimension := func(kind ledger.Kind, name, capacity string) ledger.Ordinal {
		return counter.Dimensions.Ordinal(ledger.Dimension{Kind: kind, Name: name, Capacity: capacity})
	}
	h100, a100 := dimension(ledger.DeviceCount, "h100", ""), dimension(ledger.DeviceCount, "a100", "")
	memory, card := dimension(ledger.DeviceCapacity, "h100", "memory"), dimension(ledger.Card, "H100", "")
	var many []ledger.Ordinal
	for i := range 7 {
		many = append(many, dimension(ledger.DeviceCount, fmt.Sprint("c", i), ""))
	}
	units := func(n int64, os ...ledger.Ordinal) ledger.Amounts {
		var all ledger.Amounts
		for _, o := range os {
			all = append(all, ledger.Entry{Dimension: o, Amount: ledger.Units(n)})
		}
		return all
	}
	for _, c := range []struct {
		name                    string
		limits, held, requested ledger.Amounts
		devices, cards          string
	}{
		{name: "nothing is limited or used"},
		{name: "a limit", limits: units(8, h100), devices: "h100 0/8"},
		{name: "a limit of zero", limits: units(0, h100), devices: "h100 0/0"},
		{name: "use without a limit", held: units(2, h100), requested: units(2, h100), devices: "h100 2"},
		{name: "use and demand", limits: units(8, h100, card), held: units(6, h100, card), requested: units(8, h100, card), devices: "h100 6/8 (2 waiting)", cards: "H100 6/8 (2 waiting)"},
		{name: "demand for what must not be used", limits: units(0, h100), requested: units(1, h100), devices: "h100 0/0 (1 waiting)"},
		{name: "what is held by nobody's request", held: units(1, h100), devices: "h100 1"},
		{name: "several classes, by name", limits: units(8, h100, a100, memory), devices: "a100 0/8, h100 0/8"},
		{name: "many classes", limits: units(1, many...), devices: "c0 0/1, c1 0/1, c2 0/1, c3 0/1, c4 0/1, and 2 more"},
	} {
		f := newFixture(t)
		accounts := f.accounts(counter, "q", c.limits, c.held)
		if err := accounts.Ledger.Add(0, ledger.Request, c.requested); err != nil {
			t.Fatal(err)
		}
		if got, want := usageOf(accounts, 0), (queueusage.Usage{Devices: c.devices, Cards: c.cards}); got != want {
			t.Errorf("%s: usage is %q, want %q", c.name, got, want)
		}
	}
}

func TestUsageIsHandedOverWhenItIsCompleteAndNew(t *testing.T) {
	f := newFixture(t)
	f.queue("handed")
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	h100 := counter.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
	for _, session := range []struct {
		name     string
		devices  int64
		complete bool
		want     string
	}{
		{"claims are still being read", 1, false, ""},
		{"everything has been read", 1, true, `handed {"metadata":{"annotations":{"volcano.sh/device.usage":"h100 1"}}}`},
		{"nothing has changed", 1, true, ""},
		{"a pod comes", 2, true, `handed {"metadata":{"annotations":{"volcano.sh/device.usage":"h100 2"}}}`},
	} {
		accounts := f.accounts(counter, "handed", nil, ledger.Amounts{{Dimension: h100, Amount: ledger.Units(session.devices)}})
		accounts.Complete = session.complete
		if got := f.handedOver(accounts); got != session.want {
			t.Errorf("%s: handed over is %q, want %q", session.name, got, session.want)
		}
	}
	delete(f.queues, "handed")
	if got := f.handedOver(f.accounts(counter, "handed", nil, nil)); got != "" {
		t.Errorf("the queue is gone, but %q is handed over", got)
	}
}

// handedOver returns what a session passes to an empty writer.
func (f *fixture) handedOver(accounts *Accounts) string {
	f.Helper()
	var patched []string
	f.Usage = &queueusage.Writer{
		Annotations: func(string) (map[string]string, bool) { return nil, true },
		Patch: func(_ context.Context, queue string, patch []byte) error {
			patched = append(patched, queue+" "+string(patch))
			return nil
		},
	}
	f.Metrics(accounts)
	if err := f.Usage.Write(f.Context()); err != nil {
		f.Fatal(err)
	}
	return strings.Join(patched, "; ")
}
