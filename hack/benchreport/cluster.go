// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// clusterTitle is the title of the last part of the page.
const clusterTitle = "\n## On a real API server\n"

// clusterText is the beginning of that part.
const clusterText = `
Here, etcd, the API server, and the controllers are real, each in a process of its own, and share two cores with the scheduler: this project's, Volcano's own, and that of
Kubernetes, which has neither quotas nor gangs. All may send 2,000 requests a second. Nothing acts for kubelets. Pods wait when the scheduler starts, or come at a steady rate. Latencies
are from the creation of a pod, or the start of the scheduler, to its binding. CPU time, memory, and requests are those of the scheduler's process. Where pods come one by one, that of
Kubernetes is faster: it works pod by pod. The others work in sessions, and write a PodGroup for each pod. Ours begin when pods come, Volcano's 100 ms after the last
one has ended. Pods that have no node after five minutes are left waiting. 5,000 pods have 500 nodes, all others 200.
` + "`make bench-cluster`" + ` writes this part of the page.

| pods | arrive | scheduler | pods/s | p50 | p95 | p99 | CPU per pod | memory | requests per pod | a session | plugins at its begin | actions | plugins at its end | left waiting |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// column is a column of the table.
type column struct{ unit, format string }

var columns = []column{
	{"pods/s", "%.0f"}, {"p50-ms", "%.0f ms"}, {"p95-ms", "%.0f ms"}, {"p99-ms", "%.0f ms"}, {"cpu-ms/pod", "%.1f ms"}, {"megabytes", "%.0f MB"}, {"requests/pod", "%.1f"}, {"ms/session", "%.0f ms"}, {"open-ms/session", "%.0f ms"}, {"actions-ms/session", "%.0f ms"}, {"close-ms/session", "%.0f ms"}, {"waiting", "%.0f"},
}

// runs has the values of a scheduler with a shape, by unit.
type runs struct {
	pods, arrive, scheduler string
	values                  map[string][]float64
}

func clusterPart(tools string, printed []byte, page *parts) error {
	all, err := parseCluster(printed)
	if err != nil {
		return err
	}
	tables, err := benchstat(tools, printed, "-col", "/scheduler@(kube volcano ours)", "-row", "/shape,/nodes,/pods,/rate", "-filter", ".unit:(pods/s OR p99-ms OR cpu-ms/pod)")
	page.cluster = reportCluster(all, tables)
	return err
}

func reportCluster(all []*runs, tables string) []byte {
	var out bytes.Buffer
	out.WriteString(clusterText)
	for _, r := range all {
		fmt.Fprintf(&out, "| %s | %s | %s |", r.pods, r.arrive, r.scheduler)
		for _, c := range columns {
			value := ""
			if len(r.values[c.unit]) > 0 {
				value = " " + fmt.Sprintf(c.format, middle(r.values[c.unit]))
			}
			fmt.Fprintf(&out, "%s |", value)
		}
		out.WriteString("\n")
	}
	plotThroughput(&out, all)
	fmt.Fprintf(&out, "\nCompared by benchstat:\n\n```\n%s```\n", tables)
	return out.Bytes()
}

func parseCluster(printed []byte) ([]*runs, error) {
	var all []*runs
	reader := benchfmt.NewReader(bytes.NewReader(printed), "go test -bench")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		values := named(result)
		r := &runs{
			pods: values["pods"] + " with " + strings.ReplaceAll(values["shape"], "_", " "), arrive: "at once", scheduler: values["scheduler"], values: map[string][]float64{},
		}
		if rate := values["rate"]; rate != "0" {
			r.arrive = rate + "/s"
		}
		if known := slices.IndexFunc(all, func(k *runs) bool { return k.pods == r.pods && k.arrive == r.arrive && k.scheduler == r.scheduler }); known >= 0 {
			r = all[known]
		} else {
			all = append(all, r)
		}
		for _, c := range columns {
			if value, has := result.Value(c.unit); has {
				r.values[c.unit] = append(r.values[c.unit], value)
			}
		}
	}
	return all, reader.Err()
}

// plotThroughput draws the pods per second of those that arrive at once, where Volcano's scheduler ran, too.
func plotThroughput(out *bytes.Buffer, all []*runs) {
	var shapes, ours, theirs []string
	rate := ""
	for _, r := range all {
		switch {
		case r.arrive != "at once":
		case r.scheduler == "ours": // it comes before the others
			rate = r.rate()
		case r.scheduler == "volcano":
			shapes, ours, theirs = append(shapes, fmt.Sprintf("%q", r.pods)), append(ours, rate), append(theirs, r.rate())
		}
	}
	fmt.Fprintf(out, "\nPods per second when all arrive at once. The bars are ours, and the line is Volcano's:\n\n"+
		"```mermaid\nxychart-beta\n    x-axis [%s]\n    y-axis \"pods per second\"\n    bar [%s]\n    line [%s]\n```\n",
		strings.Join(shapes, ", "), strings.Join(ours, ", "), strings.Join(theirs, ", "))
}

func (r *runs) rate() string { return fmt.Sprintf("%.0f", middle(r.values["pods/s"])) }
