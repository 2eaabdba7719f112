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
