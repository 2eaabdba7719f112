// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// schedulersTitle is the title of the part about whole schedulers.
const schedulersTitle = "\n## The whole scheduler\n"

// schedulersText is the beginning of that part.
const schedulersText = `
These benchmarks run the whole scheduler, with its cache, its requests, and an API server in memory: with the plugins and actions of this project, and with Volcano's own. Jobs
arrive at once. The time is the CPU time from the first session to the last binding, of everything in the process, for each pod. Volcano itself evicts nobody for claims, and
serves no extended resources with DRA. Where few pods arrive in a large cluster, most of the time is the start of sessions: ours also charges all that runs.
While nothing waits and no pod changes, one session in ten periods runs: the time of a session in which nothing changes is spent every ten seconds then, not every second.
` + "`make bench-scheduler`" + ` writes this part of the page.

Pods that are alike share the answers of nodes: [decision 14](decisions/0014-pods-share-what-nodes-answer.md) says how. Sessions use again the copies of nodes and jobs that
nobody has changed. One argument of the plugin switches both off:

| argument | default | meaning |
| --- | --- | --- |
| ` + "`incremental`" + ` | ` + "`true`" + ` | pods that are alike share what nodes answer about them, and sessions copy only what has changed. With ` + "`false`" + `, Volcano's action allocate asks the nodes about each pod, and each session copies everything |

| what arrives | nodes | running pods | jobs | pods × devices of a job | CPU time: Volcano | ours | faster | memory: Volcano | ours |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// sessionsText comes before the sessions in which nothing changes.
const sessionsText = `
A session in which nothing changes, while each running pod has a claim. The heap includes the API server in memory, which is the same for both:

| nodes | running pods | CPU time: Volcano | ours | less | garbage: Volcano | ours | less | heap per pod: Volcano | ours |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// workload is what a benchmark runs.
type workload struct {
	idle                 bool
	title, asked         string
	nodes, running, jobs int
}

// spent is what a pod or a session costs, in each run.
type spent struct{ milliseconds, bytes, heap []float64 }

// costs has the costs of each workload, by plugins, and the workloads in their order.
type costs struct {
	of    map[workload]map[string]spent
	order []workload
}

func schedulersPart(tools string, printed []byte, page *parts) error {
	measured, err := parseSchedulers(bytes.NewReader(printed))
	if err != nil {
		return err
	}
	tables, err := benchstat(tools, printed, "-col", "/plugins@(volcano ours)", "-row", "/shape,/nodes,/running,/jobs,/asked", "-filter", ".unit:(cpu-ms/pod OR cpu-ms/session)")
	page.schedulers = measured.report(tables)
	return err
}

func parseSchedulers(in io.Reader) (*costs, error) {
	c := &costs{of: map[workload]map[string]spent{}}
	reader := benchfmt.NewReader(in, "go test -bench")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		if err := c.add(result); err != nil {
			return nil, err
		}
	}
	return c, reader.Err()
}

func (c *costs) add(result *benchfmt.Result) error {
	values := named(result)
	var err error
	number := func(text string) int {
		n, failed := strconv.Atoi(text)
		err = cmp.Or(err, failed)
		return n
	}
	each, _, _ := strings.Cut(values["asked"], "x")
	w := workload{
		title: strings.ReplaceAll(values["shape"], "_", " "), asked: strings.Replace(values["asked"], "x", "×", 1),
		nodes: number(values["nodes"]), running: number(values["running"]), jobs: number(values["jobs"]),
	}
	var milliseconds, bytes, heap float64
	if milliseconds, w.idle = result.Value("cpu-ms/session"); w.idle {
		bytes, _ = result.Value("B/session")
		heap, _ = result.Value("heap-B/pod")
	} else {
		milliseconds, _ = result.Value("cpu-ms/pod")
		bytes, _ = result.Value("B/op")
		bytes /= float64(w.jobs * number(each))
	}
	if c.of[w] == nil {
		c.of[w], c.order = map[string]spent{}, append(c.order, w)
	}
	known := c.of[w][values["plugins"]]
	c.of[w][values["plugins"]] = spent{append(known.milliseconds, milliseconds), append(known.bytes, bytes), append(known.heap, heap)}
	return err
}

// named returns the parts of the name of a result that have a name themselves.
func named(result *benchfmt.Result) map[string]string {
	_, parts := result.Name.Parts()
	values := map[string]string{}
	for _, part := range parts {
		key, value, _ := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		values[key] = value
	}
	return values
}

func (c *costs) report(tables string) []byte {
	var out, sessions bytes.Buffer
	out.WriteString(schedulersText)
	for _, w := range c.order {
		ours, theirs := c.of[w]["ours"], c.of[w]["volcano"]
		cpu, theirCPU, memory, theirMemory := middle(ours.milliseconds), middle(theirs.milliseconds), middle(ours.bytes), middle(theirs.bytes)
		switch {
		case w.idle:
			fmt.Fprintf(&sessions, "| %d | %d | %.0f ms | %.0f ms | %s | %.0f MB | %.0f MB | %s | %.1f kB | %.1f kB |\n", w.nodes, w.running,
				theirCPU, cpu, times(theirCPU, cpu), theirMemory/1e6, memory/1e6, times(theirMemory, memory), middle(theirs.heap)/1e3, middle(ours.heap)/1e3)
		case len(theirs.bytes) == 0:
			fmt.Fprintf(&out, "| %s | %d | %d | %d | %s | | %.1f ms | | | %.1f MB |\n", w.title, w.nodes, w.running, w.jobs, w.asked, cpu, memory/1e6)
		default:
			fmt.Fprintf(&out, "| %s | %d | %d | %d | %s | %.1f ms | %.1f ms | %s | %.1f MB | %.1f MB |\n", w.title, w.nodes, w.running, w.jobs, w.asked,
				theirCPU, cpu, times(theirCPU, cpu), theirMemory/1e6, memory/1e6)
		}
	}
	if sessions.Len() > 0 {
		fmt.Fprintf(&out, "%s%s", sessionsText, sessions.String())
	}
	c.plot(&out, "The CPU time of a pod with one device, by the number of nodes", "nodes", func(w workload) (int, bool) {
		return w.nodes, w.title == "single pods" && w.running == 0 && w.jobs <= 1000
	})
	c.plot(&out, "The CPU time of a session in which nothing changes, by the number of running pods", "running pods", func(w workload) (int, bool) { return w.running, w.idle })
	fmt.Fprintf(&out, "\nThe CPU times, compared by benchstat:\n\n```\n%s```\n", tables)
	return out.Bytes()
}

// plot draws costs. Place returns the place of a workload on the axis, and whether it is drawn.
func (c *costs) plot(out io.Writer, title, axis string, place func(workload) (int, bool)) {
	at := map[int]map[string]spent{}
	for w, all := range c.of {
		if x, drawn := place(w); drawn {
			at[x] = all
		}
	}
	var places, theirs, ours []string
	for _, x := range slices.Sorted(maps.Keys(at)) {
		places = append(places, strconv.Itoa(x))
		theirs = append(theirs, fmt.Sprintf("%.1f", middle(at[x]["volcano"].milliseconds)))
		ours = append(ours, fmt.Sprintf("%.1f", middle(at[x]["ours"].milliseconds)))
	}
	fmt.Fprintf(out, "\n%s. The upper line is Volcano's:\n\n```mermaid\nxychart-beta\n    x-axis %q [%s]\n    y-axis \"milliseconds\"\n    line [%s]\n    line [%s]\n```\n",
		title, axis, strings.Join(places, ", "), strings.Join(theirs, ", "), strings.Join(ours, ", "))
}

// middle returns the median.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
