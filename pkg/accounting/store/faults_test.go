// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestFaultsNeitherLoseNorDouble lets writers fail, crash, and take over from one another. Holders come and go, and last longer than any outage.
// In the end, the test compares the record with plain arithmetic.
func TestFaultsNeitherLoseNorDouble(t *testing.T) {
	for seed := range uint64(150) {
		if diff := writeWithFaults(t, rand.New(rand.NewPCG(seed, 7))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func writeWithFaults(t *testing.T, random *rand.Rand) string {
	s := newServer()
	s.random, s.faults = random, 10
	var dimensions ledger.Dimensions
	amounts := ledger.Amounts{{Dimension: dimensions.Ordinal(gpu), Amount: ledger.Units(2)}}
	clock := testingclock.NewFakeClock(midnight)
	start := func() *Writer {
		return &Writer{Account: accounting.New(accounting.Period(time.Hour)), Store: New(s.client(), "", 30*day), Interval: time.Minute, Clock: clock}
	}
	// All holders exist from the first session on. The tests of the account cover begins and ends.
	begins := map[accounting.Key]time.Time{}
	for i := range 5 {
		begins[accounting.Key(fmt.Sprint(i))] = midnight.Add(time.Duration(random.IntN(2*3600)) * time.Second)
	}
	var published map[string]ledger.Amount
	writer := start()
	if s.faults = 0; writer.Write(t.Context(), accounting.Lag) != nil {
		t.Fatal("the record cannot be begun")
	}
	s.faults = 10
	step := func() {
		clock.Step(time.Duration(1+random.IntN(600)) * time.Second)
		writer.Account.Observe(clock.Now(), &dimensions, func(o *accounting.Observation) {
			for key, begin := range begins {
				if queue := "queue-" + string(key); !clock.Now().Before(begin) && !o.Continues(key, queue, "", amounts) {
					o.Hold(accounting.Holding{Key: key, Queue: queue, Namespace: "ns", Amounts: amounts, Since: begin})
				}
			}
		}, func(accounting.Key, string, string) time.Time { return time.Time{} })
		if random.IntN(3) > 0 {
			_ = writer.Write(t.Context(), accounting.Lag) // it may fail, and is repeated
		}
		recorded := writer.Recorded()
		if recorded == nil {
			return
		}
		now := map[string]ledger.Amount{}
		for series, total := range recorded.Totals {
			now[series.Queue] = total
		}
		for queue, before := range published {
			if now[queue].Cmp(before) < 0 {
				t.Errorf("queue %s decreases from %s to %s", queue, before, now[queue])
			}
		}
		published = now
	}
	for range 60 {
		step()
		if random.IntN(4) == 0 {
			writer = start() // the process crashes
		}
	}
	s.faults = 0
	step()
	for range 3 { // the rest is written
		step()
		if err := writer.Write(t.Context(), accounting.Lag); err != nil && !strings.Contains(err.Error(), ErrOtherWriter.Error()) {
			t.Fatal(err)
		}
	}
	through := s.checkpoints[v1alpha1.CheckpointName].Spec.Through
	want, got := map[string]string{}, map[string]string{}
	for key, begin := range begins {
		if !through.After(begin) {
			continue
		}
		want["queue-"+string(key)] = fmt.Sprint(2 * int64(through.Sub(begin).Seconds()))
		sum := ledger.Amount{}
		for _, record := range s.records {
			if record.Spec.Queue != "queue-"+string(key) {
				continue
			}
			all, err := Sums(record, metav1.Time(through).Unix())
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range all {
				sum, _ = sum.Add(each.Seconds)
			}
		}
		got["queue-"+string(key)] = sum.String()
	}
	return cmp.Diff(want, got)
}
