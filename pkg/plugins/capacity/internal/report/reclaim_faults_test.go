// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/devicequota/devicequota/pkg/problems"
)

func TestTheConfigurationIsLoggedWhenItChanges(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	klog.SetLogger(logger)
	t.Cleanup(klog.ClearLogger)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer()
	f, seen := newFixture(t), 0
	without, tiers := problems.ReclaimFault{Kind: problems.NoReclaimAction}, problems.ReclaimFault{Kind: problems.VictimsInOtherTier, Others: "gang", Plugin: "capacity"}
	for _, cycle := range []struct {
		name  string
		fault problems.ReclaimFault
		idle  bool
		want  string
	}{
		{name: "nothing is wrong"},
		{name: "a fault", fault: without, want: without.String()},
		{name: "the same fault", fault: without},
		{name: "another one", fault: tiers, want: tiers.String()},
		{name: "it is corrected"},
		{name: "it is back", fault: tiers, want: tiers.String()},
		{name: "no queue deserves anything", idle: true, want: "no queue deserves anything"},
		{name: "nor in the next cycle", idle: true},
		{name: "a queue deserves something"},
		{name: "and no queue again", idle: true},
	} {
		f.LogReclaim(cycle.fault, cycle.idle)
		said := log.String()[seen:]
		seen += len(said)
		if (cycle.want == "") != (said == "") || !strings.Contains(said, cycle.want) {
			t.Errorf("%s: the log says %q, want %q", cycle.name, said, cycle.want)
		}
	}
}
