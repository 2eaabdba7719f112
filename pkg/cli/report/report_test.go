// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	noon   = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	gpu    = ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"}
	memory = ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}
	card   = ledger.Dimension{Kind: ledger.Card, Name: "A100"}
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"now": "2026-11-22T12:00:00Z", "-7d": "2026-11-15T12:00:00Z", "-90m": "2026-11-22T10:30:00Z",
		"2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01T05:00:00+01:00": "2026-11-01T04:00:00Z",
		"yesterday": "", "7d": "", "-d": "", "--1d": "", "-99999999d": "", "-": "", "": "",
	} {
		got, err := parseTime(text, noon)
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken for %s", text, got)
			}
		} else if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %s, error %v, want %s", text, got, err, want)
		}
	}
}

func used(queue, namespace string, d ledger.Dimension, day time.Time, seconds int64) usage {
	return usage{accounting.Series{Queue: queue, Namespace: namespace, Dimension: d}, day, ledger.Units(seconds)}
}

func TestCSV(t *testing.T) {
	idle := usage{accounting.Series{Measure: accounting.GuaranteedIdle, Queue: "team-a", Dimension: gpu}, noon, ledger.Units(1800)}
	waited := usage{accounting.Series{Measure: accounting.Waited, Queue: "team-a", Dimension: gpu}, noon, ledger.Units(1)}
	all := []usage{
		used("team-a", "x", gpu, noon, 3600), used("team-a", "y", gpu, noon.Add(24*time.Hour), 1800), used("team-a", "x", memory, noon, 7200),
		used("team-b", "x", card, noon, 36), idle, waited,
	}
	const head = ",unit,used_hours,guaranteed_idle_hours,waited_hours,used_seconds,guaranteed_idle_seconds,waited_seconds\n"
	parents := map[string]string{"team-a": "org", "team-b": "org", "org": "root"}
	for _, test := range []struct {
		name    string
		by      []string
		parents map[string]string
		want    string
	}{
		{"adds up namespaces and days", []string{"queue", "class", "card"}, nil, "queue,class,card" + head +
			"team-a,h100,,device,1.5,0.5,0.000278,5400,1800,1\nteam-a,h100,,memory,2,0,0,7200,0,0\nteam-b,,A100,card,0.01,0,0,36,0,0\n"},
		{"never adds devices, cards, and capacities to each other", []string{"day"}, nil, "day" + head +
			"2026-11-22,card,0.01,0,0,36,0,0\n2026-11-22,device,1,0.5,0.000278,3600,1800,1\n2026-11-22,memory,2,0,0,7200,0,0\n2026-11-23,device,0.5,0,0,1800,0,0\n"},
		{"counts for the queues above what is used, and not what is idle", []string{"queue"}, parents, "queue" + head +
			"org,card,0.01,0,0,36,0,0\norg,device,1.5,0,0.000278,5400,0,1\norg,memory,2,0,0,7200,0,0\n" +
			"root,card,0.01,0,0,36,0,0\nroot,device,1.5,0,0.000278,5400,0,1\nroot,memory,2,0,0,7200,0,0\n" +
			"team-a,device,1.5,0.5,0.000278,5400,1800,1\nteam-a,memory,2,0,0,7200,0,0\nteam-b,card,0.01,0,0,36,0,0\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &flags{by: test.by}
			f.output.Format = "csv"
			var out bytes.Buffer
			if err := f.print(&out, sum(all, test.by, test.parents)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoCellOfACSVIsAFormula(t *testing.T) {
	for label, want := range map[string]string{
		`=HYPERLINK("https://example.com")`: `"'=HYPERLINK(""https://example.com"")"`, "+1": "'+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "\"'\r=1\"", "＝1": "'＝1", "'=1": "''=1", "team-a": "team-a", "": "",
	} {
		u := used("team-a", "x", ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "=memory"}, noon, 3600)
		u.Label = label
		f := &flags{by: []string{"label"}}
		f.output.Format = "csv"
		var out bytes.Buffer
		if err := f.print(&out, sum([]usage{u}, f.by, nil)); err != nil {
			t.Fatal(err)
		}
		if _, line, _ := strings.Cut(out.String(), "\n"); line != want+",'=memory,1,0,0,3600,0,0\n" {
			t.Errorf("the label %q is %q", label, line)
		}
	}
}

func TestTableHasMemoryInGi(t *testing.T) {
	f := &flags{by: []string{"queue", "class"}}
	f.output.Format = "table"
	var out bytes.Buffer
	all := []usage{used("team-a", "x", gpu, noon, 3600), used("team-a", "x", memory, noon, 3600*80<<30)}
	if err := f.print(&out, sum(all, f.by, nil)); err != nil {
		t.Fatal(err)
	}
	want := `
QUEUE    CLASS   UNIT           USED   GUARANTEED IDLE   WAITED
team-a   h100    device-hours   1      0                 0
team-a   h100    memory-hours   80Gi   0Gi               0Gi
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFromRecordLeavesOutWhatDoesNotCountYet(t *testing.T) {
	record := func(day int, through time.Time) *v1alpha1.UsageRecord {
		start := time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)
		return &v1alpha1.UsageRecord{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "UsageRecord"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("team-a.", day)},
			Spec: v1alpha1.UsageRecordSpec{
				Queue: "team-a", Start: metav1.NewTime(start), End: metav1.NewTime(start.Add(24 * time.Hour)), Through: metav1.NewTime(through),
				Series: []v1alpha1.UsageSeries{{Measure: v1alpha1.Used, DeviceClass: "h100", Namespace: "x", Before: "1000", Seconds: "100", LastAdded: "40"}},
			},
		}
	}
	checkpoint := &v1alpha1.UsageCheckpoint{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "UsageCheckpoint"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CheckpointName}, Spec: v1alpha1.UsageCheckpointSpec{Through: metav1.NewTime(noon)},
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{},
		record(20, noon), record(21, noon), record(22, noon.Add(time.Minute)), checkpoint)
	all, note, err := fromRecord(t.Context(), client, span{noon.Add(-24 * time.Hour), noon})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, u := range all {
		got[u.day.Format(time.DateOnly)] = u.amount.String()
	}
	if diff := cmp.Diff(map[string]string{"2026-11-21": "100", "2026-11-22": "60"}, got); diff != "" {
		t.Error(diff)
	}
	if want := "The report has whole periods, from 2026-11-21T00:00:00Z to 2026-11-23T00:00:00Z. The record is complete up to 2026-11-22T12:00:00Z."; note != want {
		t.Error(note)
	}
}

func TestFromPrometheusTakesDifferencesOfCounters(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seconds := "1000"
		if r.FormValue("time") == fmt.Sprint(noon.Unix()) {
			seconds = "4600"
		}
		if r.URL.Path != "/prefix/api/v1/query" || r.FormValue("query") != "last_over_time(volcano_queue_device_seconds_total[1d])" {
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
			return
		}
		one := `{"metric":{"queue":"team-a","device_class":"h100","namespace":"volcano-system","exported_namespace":"x","label_team":"red","pod":"%s"},"value":[1,"%s"]}`
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[`+one+","+one+`]}}`, "old", "900", "new", seconds)
	}))
	defer server.Close()
	all, _, err := fromPrometheus(t.Context(), server.URL+"/prefix", span{noon.Add(-time.Hour), noon}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"team-a x red h100 3600"}
	var got []string
	for _, u := range all {
		got = append(got, fmt.Sprintln(u.Queue, u.Namespace, u.Label, u.Dimension, u.amount))
	}
	if diff := cmp.Diff(want[0]+"\n", strings.Join(got, "")); diff != "" {
		t.Error(diff)
	}
	if _, _, err := fromPrometheus(t.Context(), "localhost", span{noon.Add(-time.Hour), noon}, false); err == nil {
		t.Error("localhost is taken for a URL")
	}
}

func TestFromPrometheusCountsNothingTwiceIfNothingWasExportedForDays(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	exported := map[time.Time]string{day(1): "1000", day(2): "1100", day(5): "1600", day(6): "1700"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := strconv.ParseInt(r.FormValue("time"), 10, 64)
		if err != nil {
			t.Error(err)
		}
		result := ""
		if seconds := exported[time.Unix(at, 0).UTC()]; seconds != "" && strings.Contains(r.FormValue("query"), "volcano_queue_card_seconds_total") {
			result = `{"metric":{"queue":"team-a","card":"A100"},"value":[1,"` + seconds + `"]}`
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
	}))
	defer server.Close()
	for _, test := range []struct {
		name string
		from int
		days bool
		want map[string]string
		note string
	}{
		{"each day, with a gap", 1, true, map[string]string{"2026-11-01": "100", "2026-11-02": "0", "2026-11-03": "0", "2026-11-04": "500", "2026-11-05": "100"}, ""},
		{"all days together", 1, false, map[string]string{"2026-11-01": "700"}, ""},
		{"from a time of which there is nothing", 3, false, map[string]string{"2026-11-03": "1700"},
			"Prometheus has no counters of 2026-11-03T00:00:00Z: all that was recorded before counts, too. Begin later, or use --source=record."},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, note, err := fromPrometheus(t.Context(), server.URL, span{day(test.from), day(6)}, test.days)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, u := range all {
				got[u.day.Format(time.DateOnly)] = u.amount.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if note != test.note {
				t.Error(note)
			}
		})
	}
}

func TestAReportFromPrometheusEndsNow(t *testing.T) {
	for source, want := range map[string]time.Time{"prometheus": noon, "record": time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)} {
		f := &flags{from: "2026-11-01", to: "2026-12-01", source: source, prometheusURL: "http://localhost:9090"}
		asked, err := f.validate(noon)
		if err != nil || !asked.to.Equal(want) {
			t.Errorf("%s: to %s, error %v, want %s", source, asked.to, err, want)
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, test := range []struct {
		change func(*flags)
		want   string
	}{
		{func(f *flags) { f.by = []string{"pod"} }, "--by=pod: use some of queue, class, card, namespace, label, day"},
		{func(f *flags) { f.source = "prom" }, "--source=prom: use record or prometheus"},
		{func(f *flags) { f.source = "prometheus" }, "--source=prometheus needs --prometheus-url"},
		{func(f *flags) { f.from = "now" }, "--from=now is not before --to=now"},
		{func(f *flags) { f.from = "x" }, "--from=x: " + errTime.Error()},
	} {
		f := &flags{from: "-7d", to: "now", source: "record"}
		f.output.Format = "csv"
		f.output.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError), "csv")
		f.output.Format = "csv"
		test.change(f)
		if _, err := f.validate(noon); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
