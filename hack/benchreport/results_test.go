// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const printed = `goos: linux
goarch: amd64
cpu: Some CPU
BenchmarkCapacity/queues=10/depth=2/pods=20/op=Allocatable/plugin=upstream-2     	  10	      2000 ns/op	     800 B/op	       7 allocs/op
BenchmarkCapacity/queues=10/depth=2/pods=20/op=Allocatable/plugin=upstream#01-2  	  10	      3000 ns/op	     800 B/op	       7 allocs/op
BenchmarkCapacity/queues=10/depth=2/pods=20/op=Allocatable/plugin=upstream#02-2  	  10	      9000 ns/op	     800 B/op	       7 allocs/op
BenchmarkCapacity/queues=10/depth=2/pods=20/op=Allocatable/plugin=ours-2         	  10	       100 ns/op	     400 B/op	       0 allocs/op
BenchmarkCards/op=Predicate/names=two-2         	  10	       90 ns/op	     16 B/op	       0 allocs/op
BenchmarkCards/op=Predicate/names=two-2         	  10	       94 ns/op	     16 B/op	       0 allocs/op
BenchmarkCards/op=Predicate/names=two-2         	  10	       200 ns/op	     16 B/op	       0 allocs/op
BenchmarkEviction/op=reclaim/nodes=500/jobs=1/asked=250x8/again=false/devices=extended/plugin=upstream-2   1  700000000 ns/op  55000000 B/op  1 allocs/op
BenchmarkEviction/op=reclaim/nodes=500/jobs=1/asked=250x8/again=false/devices=extended/plugin=ours-2       1  600000000 ns/op  50000000 B/op  1 allocs/op
BenchmarkEviction/op=reclaim/nodes=500/jobs=1/asked=250x8/again=false/devices=claims/plugin=ours-2         1 1400000000 ns/op 340000000 B/op  1 allocs/op
`

func TestReport(t *testing.T) {
	r, err := parse(strings.NewReader(repeated.ReplaceAllString(printed, "$1")))
	if err != nil {
		t.Fatal(err)
	}
	got := string(report(r, "tables"))
	for _, want := range []string{
		"linux/amd64, Some CPU",
		"| Allocatable | 10 | 2 | 20 | 3.0 µs | 100 ns | 30× | 2.0× |\n",
		"| reclaim | 500 | 1 | 250×8 | 700.0 ms | 600.0 ms | 1.4 s | 55.0 MB, 50.0 MB, 340.0 MB |\n",
		"| Cards/op=Predicate/names=two | 94 ns | 16 B |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%s", want, got)
		}
	}
}

func TestNothingMeasuredIsAnError(t *testing.T) {
	for _, in := range []string{"", "PASS\n", "BenchmarkCapacity/op=x/plugin=ours-2 1 5 ns/op\n"} {
		if _, err := parse(strings.NewReader(in)); err == nil {
			t.Errorf("%q is accepted as results", in)
		}
	}
}

func TestReportOfSchedulers(t *testing.T) {
	measured, err := parseSchedulers(strings.NewReader(`BenchmarkScheduler/shape=two_gangs/nodes=500/running=0/jobs=10/asked=2x4/plugins=ours-2   1  1 ns/op  5.0 cpu-ms/pod  40000000 B/op  1 allocs/op
BenchmarkScheduler/shape=two_gangs/nodes=500/running=0/jobs=10/asked=2x4/plugins=volcano-2   1  1 ns/op  60.0 cpu-ms/pod  400000000 B/op  1 allocs/op
BenchmarkScheduler/shape=single_pods/nodes=500/running=0/jobs=10/asked=1x1/plugins=ours-2   1  1 ns/op  2.5 cpu-ms/pod  10000000 B/op  1 allocs/op
BenchmarkScheduler/shape=single_pods/nodes=500/running=0/jobs=10/asked=1x1/plugins=volcano-2   1  1 ns/op  20.0 cpu-ms/pod  10000000 B/op  1 allocs/op
BenchmarkScheduler/shape=a_gang_that_reclaims/nodes=500/running=4000/jobs=1/asked=10x1/plugins=ours-2   1  1 ns/op  7.0 cpu-ms/pod  10000000 B/op  1 allocs/op
BenchmarkIdleSession/shape=idle/nodes=20/running=160/jobs=0/asked=0x1/plugins=ours-2   1  1 ns/op  3.0 cpu-ms/session  2000000 B/session  1000 heap-B/pod
BenchmarkIdleSession/shape=idle/nodes=20/running=160/jobs=0/asked=0x1/plugins=volcano-2   1  1 ns/op  30.0 cpu-ms/session  6000000 B/session  900 heap-B/pod
`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(measured.report("tables"))
	for _, want := range []string{
		"| two gangs | 500 | 0 | 10 | 2×4 | 60.0 ms | 5.0 ms | 12× | 20.0 MB | 2.0 MB |\n",
		"| a gang that reclaims | 500 | 4000 | 1 | 10×1 | | 7.0 ms | | | 1.0 MB |\n",
		"| 20 | 160 | 30 ms | 3 ms | 10× | 6 MB | 2 MB | 3.0× | 0.9 kB | 1.0 kB |\n",
		"    x-axis \"nodes\" [500]\n",
		"    line [20.0]\n    line [2.5]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%s", want, got)
		}
	}
}

func TestReportOfCluster(t *testing.T) {
	all, err := parseCluster([]byte(`BenchmarkCluster/shape=two_claims/nodes=2/pods=20/rate=0/scheduler=ours-2   1  1 ns/op  40.0 pods/s  1200 p50-ms  1300 p95-ms  1400 p99-ms  2.5 cpu-ms/pod  300.4 megabytes  4.24 requests/pod  50.0 ms/session  5.0 open-ms/session  20.0 actions-ms/session  1.4 close-ms/session  0 waiting
BenchmarkCluster/shape=two_claims/nodes=2/pods=20/rate=0/scheduler=volcano-2   1  1 ns/op  20.0 pods/s  2200 p50-ms  2300 p95-ms  2400 p99-ms  5.5 cpu-ms/pod  500.0 megabytes  4.0 requests/pod  70.0 ms/session
BenchmarkCluster/shape=two_claims/nodes=2/pods=20/rate=0/scheduler=ours-2   1  1 ns/op  50.0 pods/s  1200 p50-ms  1300 p95-ms  1400 p99-ms  2.5 cpu-ms/pod  300.4 megabytes  4.24 requests/pod  50.0 ms/session  5.0 open-ms/session  20.0 actions-ms/session  1.4 close-ms/session
BenchmarkCluster/shape=claims/nodes=2/pods=10/rate=5/scheduler=kube-2   1  1 ns/op  5.0 pods/s  20 p50-ms  30 p95-ms  40 p99-ms  5.1 cpu-ms/pod  500.0 megabytes  4.0 requests/pod
`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(reportCluster(all, "tables"))
	for _, want := range []string{
		"| 20 with two claims | at once | ours | 50 | 1200 ms | 1300 ms | 1400 ms | 2.5 ms | 300 MB | 4.2 | 50 ms | 5 ms | 20 ms | 1 ms | 0 |\n",
		"| 10 with claims | 5/s | kube | 5 | 20 ms | 30 ms | 40 ms | 5.1 ms | 500 MB | 4.0 | | | | | |\n",
		"x-axis [\"20 with two claims\"]\n", "bar [50]\n    line [20]\n", "```\ntables```\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%s", want, got)
		}
	}
}
