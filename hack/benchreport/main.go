// SPDX-License-Identifier: Apache-2.0

// Command benchreport reads the output of `go test -bench` for the capacity plugin and for upstream's,
// and writes docs/performance.md. Its working directory is the root of the repository. Its first argument is the
// folder of the benchstat binary. With the second argument `scheduler` or `cluster`, it reads the output for whole schedulers on an API server in memory or on a
// real one, and writes the part of the page about these.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const reportFile = "docs/performance.md"

// repeated is the suffix of the names of benchmarks that run more than once.
var repeated = regexp.MustCompile(`(?m)#\d+(-\d+\s)`)

func main() {
	part := capacityPart
	if len(os.Args) > 2 {
		part = map[string]func(string, []byte, *parts) error{"scheduler": schedulersPart, "cluster": clusterPart}[os.Args[2]]
	}
	if err := run(os.Args[1], part); err != nil {
		fmt.Fprintf(os.Stderr, "benchreport: %v\n", err)
		os.Exit(1)
	}
}

// run replaces one part of the page.
func run(tools string, replace func(tools string, printed []byte, page *parts) error) error {
	printed, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(reportFile)
	if err != nil {
		return err
	}
	var page parts
	page.capacity, page.schedulers, _ = bytes.Cut(text, []byte(schedulersTitle))
	page.schedulers, page.cluster, _ = bytes.Cut(page.schedulers, []byte(clusterTitle))
	if err := replace(tools, printed, &page); err != nil {
		return err
	}
	return os.WriteFile(reportFile, slices.Concat(page.capacity, []byte(schedulersTitle), page.schedulers, []byte(clusterTitle), page.cluster), 0o644)
}

// parts are the parts of the page.
type parts struct{ capacity, schedulers, cluster []byte }

func capacityPart(tools string, printed []byte, page *parts) error {
	printed = repeated.ReplaceAll(printed, []byte("$1"))
	results, err := parse(bytes.NewReader(printed))
	if err != nil {
		return err
	}
	tables, err := benchstat(tools, printed, "-col", "/plugin@(upstream ours)", "-row", "/op,/queues,/depth,/pods",
		"-filter", ".name:Capacity AND /plugin:(upstream OR ours)")
	page.capacity = report(results, tables)
	return err
}

// benchstat compares the plugins with golang.org/x/perf/cmd/benchstat.
func benchstat(tools string, printed []byte, arguments ...string) (string, error) {
	file, err := os.CreateTemp("", "bench-*.txt")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(printed); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	command := exec.Command(filepath.Join(tools, "benchstat"), append(arguments, file.Name())...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	return string(out), err
}

func report(r results, tables string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `# Performance

This page shows what this project's capacity plugin costs, compared with upstream's plugin (Volcano v1.14.1). `+"`make bench`"+` writes this
page. It runs both plugins side by side through Volcano's own session, on the same generated cluster of 5,000 nodes.
Machine: %s.

| operation | meaning |
| --- | --- |
| Allocatable | checks whether a pod fits its queue and all queues above it. Called for every pod that is placed |
| Preemption | PrePredicate and the simulation of one victim. Called for every pod that may preempt others |
| Enqueue | a job is admitted to its queue |
| SessionOpen | the work of the plugin at the start of a cycle in which nothing has changed |

The table shows the median of all runs. The last columns show how many times faster this project's plugin is, and how many times less
memory it allocates on the heap:

`, strings.ReplaceAll(r.machine, "\n", ", "))
	fmt.Fprintln(&out, "| operation | queues | depth | pods | upstream | ours | faster | less memory |")
	fmt.Fprintln(&out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range r.rows() {
		ours, theirs := median(r.costs[row]["ours"]), median(r.costs[row]["upstream"])
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %s | %s | %s | %s |\n", row.op, row.queues, row.depth, row.pods,
			duration(theirs.nanoseconds), duration(ours.nanoseconds), times(theirs.nanoseconds, ours.nanoseconds), times(theirs.bytes, ours.bytes))
	}
	fmt.Fprintf(&out, "\nThe same results, compared by benchstat:\n\n```\n%s```\n", tables)
	r.writeEvictions(&out)
	out.WriteString(cards)
	for _, name := range r.names {
		if measured := median(r.alone[name]); !strings.HasPrefix(name, dispatcherPrefix) {
			fmt.Fprintf(&out, "| %s | %s | %.0f B |\n", name, duration(measured.nanoseconds), measured.bytes)
		}
	}
	r.writeDispatcher(&out)
	return out.Bytes()
}

// dispatcherPrefix is the common start of the names of the dispatcher's benchmarks.
const dispatcherPrefix = "Dispatcher/cycle="

// dispatcher is the header of the table of the dispatcher's cycles.
const dispatcher = `
## The dispatcher

These benchmarks run whole cycles of vc-dispatcher, from its informers to its report. 10,000 Volcano Jobs are held, and 2,000 have been granted
room, in 100 queues below ten others. Half of the jobs ask for cpu and memory only, a quarter also for cards, and a quarter also for devices. The
API server accepts every request at once, and changes nothing. A grant takes three requests: a patch of the binding, and an event each on
the binding and on the workload. The status of a queue, and its columns of cards and devices, are written once a second at most, however much is granted.

| cycle | time | memory |
| --- | ---: | ---: |
`

func (r results) writeDispatcher(out *bytes.Buffer) {
	out.WriteString(dispatcher)
	for _, name := range r.names {
		if cycle, is := strings.CutPrefix(name, dispatcherPrefix); is {
			measured := median(r.alone[name])
			fmt.Fprintf(out, "| %s | %s | %.1f MB |\n", cycle, duration(measured.nanoseconds), measured.bytes/1e6)
		}
	}
}

// evictions is the header of the table of actions that evict.
const evictions = `
## Evictions

These benchmarks run one action in a cluster with eight devices on each node. Pods of one queue have all of them. Preempt is asked by a pod of
high priority in that queue. Reclaim is asked by jobs of a queue that deserves all devices. Jobs ask for pods × devices. Only the
action is measured, without the start of the session. The pods that wait are new to the scheduler each time. In the row "asked again", nobody
can be evicted, and the session before has found that out.

Upstream's actions do not know the devices of ResourceClaims. They are asked for as many of an extended resource, and take the first node that will
do. This project's actions take the cheapest victims of all nodes, and evict for a gang only if all of it fits.

| action | nodes | jobs | asked | upstream, extended resource | ours, extended resource | ours, ResourceClaims | memory of the three |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

func (r results) writeEvictions(out *bytes.Buffer) {
	out.WriteString(evictions)
	for _, e := range r.evictionsOrder {
		asked := strings.ReplaceAll(e.asked, "x", "×")
		if e.again == "true" {
			asked += " asked again"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |", e.op, e.nodes, e.jobs, asked)
		var memory []string
		for _, by := range []string{"extended upstream", "extended ours", "claims ours"} {
			measured := median(r.evictions[e][by])
			fmt.Fprintf(out, " %s |", duration(measured.nanoseconds))
			memory = append(memory, fmt.Sprintf("%.1f MB", measured.bytes/1e6))
		}
		fmt.Fprintf(out, " %s |\n", strings.Join(memory, ", "))
	}
}

// cards is the header of the table of benchmarks without a counterpart upstream.
const cards = `
## Cards

Upstream does not tell cards apart. These benchmarks show what that costs:

* CardDiscovery finds out which cards the nodes have, at the start of a cycle in which the given number of nodes have changed.
* Cards runs the checks of one pod, in a queue below another queue, both with a card quota. The pod requests no card (names=none), names
  one card (names=one) or two cards (names=two), or takes any of five (names=any). Predicate is called for every node.
* CardSession opens a session in which nothing has changed, with the given number of running pods. All of them have a card, or none has.

| benchmark | time | memory |
| --- | ---: | ---: |
`

// times returns the ratio of a to b.
func times(a, b float64) string {
	switch {
	case b == 0 && a == 0:
		return "none in both"
	case b == 0:
		return "none"
	case a/b >= 10:
		return fmt.Sprintf("%.0f×", a/b)
	default:
		return fmt.Sprintf("%.1f×", a/b)
	}
}

func duration(nanoseconds float64) string {
	switch {
	case nanoseconds < 1e3:
		return fmt.Sprintf("%.0f ns", nanoseconds)
	case nanoseconds < 1e6:
		return fmt.Sprintf("%.1f µs", nanoseconds/1e3)
	case nanoseconds < 1e9:
		return fmt.Sprintf("%.1f ms", nanoseconds/1e6)
	default:
		return fmt.Sprintf("%.1f s", nanoseconds/1e9)
	}
}
