// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

func TestMetricsFollowTheConventions(t *testing.T) {
	metrics, registry := newMetrics(t)
	l, snapshot := books(t)
	metrics.cycle(snapshot, countWorkloads(snapshot), nil, UsageOf(l, snapshot, nil), time.Second)
	metrics.decided(KindHeld, "team")
	metrics.Patched(PatchQueueStatus, nil)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return strings.HasSuffix(p.Metric, "_milli_cpu") }) // as in the metrics of Volcano
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

// exportedFile is the input of the checks of alerts and dashboard. See hack/promtool.
const exportedFile = "../../../../test/monitoring/testdata/dispatcher-metrics.txt"

// TestTheDispatcherExportsTheListOfMetrics compares the collectors with the list and with the file. UPDATE_METRICS makes it write the file.
func TestTheDispatcherExportsTheListOfMetrics(t *testing.T) {
	metrics, registry := newMetrics(t)
	l, snapshot := books(t)
	snapshot.Workloads = append(snapshot.Workloads, job("train", "team"))
	usage, limit := UsageOf(l, snapshot, nil), ledger.Limit{Amount: ledger.Units(4), Set: true}
	limited := usage["limited"] // in dimensions that the books do not limit
	for _, d := range []ledger.Dimension{memory, gpu} {
		limited.Dimensions = append(limited.Dimensions, DimensionUsage{Dimension: d, Deserved: limit, Nearest: limit, Limit: limit})
	}
	usage["limited"] = limited
	metrics.cycle(snapshot, countWorkloads(snapshot), map[string]int{"team": 1}, usage, time.Second)
	metrics.decided(KindGranted, "team")
	metrics.Patched(PatchQueueStatus, errors.New("no route"))
	// The manager of cmd/vc-dispatcher exports this one.
	leads := prometheus.NewGaugeVec(metric.Leader.GaugeOpts(), metric.Leader.Labels)
	registry.MustRegister(leads)
	leads.WithLabelValues(metric.DispatcherLease).Set(1)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	exported := map[string]bool{}
	for _, family := range families {
		exported[family.GetName()] = true
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range metric.Groups() {
		for _, m := range group.Metrics {
			if strings.HasPrefix(m.Name, prefix) && !exported[m.Name] {
				t.Errorf("the dispatcher does not export %s", m.Name)
			}
			delete(exported, m.Name)
		}
	}
	if len(exported) > 0 {
		t.Errorf("the list lacks %v", exported)
	}
	if os.Getenv("UPDATE_METRICS") != "" {
		if err := os.WriteFile(exportedFile, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(exportedFile); err != nil || text.String() != string(want) {
		t.Errorf("%s is out of date (%v): run this test with UPDATE_METRICS=1", exportedFile, err)
	}
}
