// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// row is one operation on one shape of cluster.
type row struct {
	op                  string
	queues, depth, pods int
}

// eviction is one action that evicts, in one cluster.
type eviction struct {
	op, nodes, jobs, asked, again string
}

type cost struct {
	nanoseconds, bytes float64
}

// results has the measurements by row and plugin.
type results struct {
	machine string
	costs   map[row]map[string][]cost
	// evictions has the measurements by devices and plugin, and evictionsOrder their order.
	evictions      map[eviction]map[string][]cost
	evictionsOrder []eviction
	// alone has the measurements of benchmarks without a counterpart upstream by name, and names their order.
	alone map[string][]cost
	names []string
}

func parse(in io.Reader) (results, error) {
	r := results{costs: map[row]map[string][]cost{}, evictions: map[eviction]map[string][]cost{}, alone: map[string][]cost{}}
	reader := benchfmt.NewReader(in, "go test -bench")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		if err := r.add(result); err != nil {
			return results{}, err
		}
	}
	if err := reader.Err(); err != nil {
		return results{}, err
	}
	if len(r.costs) == 0 {
		return results{}, errors.New("standard input has no benchmark results")
	}
	return r, nil
}

func (r *results) add(result *benchfmt.Result) error {
	base, parts := result.Name.Parts()
	name, fields := string(base), map[string]string{}
	for _, part := range parts {
		if part[0] == '-' { // the number of CPUs
			continue
		}
		name += string(part)
		if key, value, found := strings.Cut(string(part[1:]), "="); found {
			fields[key] = value
		}
	}
	seconds, timed := result.Value("sec/op")
	bytes, counted := result.Value("B/op")
	if !timed || !counted {
		return fmt.Errorf("benchmark %s has no time or no memory", name)
	}
	measured := cost{seconds * 1e9, bytes}
	if fields["plugin"] == "" {
		if r.alone[name] == nil {
			r.names = append(r.names, name)
		}
		r.alone[name] = append(r.alone[name], measured)
		return nil
	}
	if fields["devices"] != "" {
		r.addEviction(fields, measured)
		return nil
	}
	var shape row
	shape.op = fields["op"]
	for key, into := range map[string]*int{"queues": &shape.queues, "depth": &shape.depth, "pods": &shape.pods} {
		n, err := strconv.Atoi(fields[key])
		if err != nil {
			return fmt.Errorf("benchmark %s: %s: %w", name, key, err)
		}
		*into = n
	}
	r.machine = fmt.Sprintf("%s/%s, %s", result.GetConfig("goos"), result.GetConfig("goarch"), result.GetConfig("cpu"))
	if r.costs[shape] == nil {
		r.costs[shape] = map[string][]cost{}
	}
	r.costs[shape][fields["plugin"]] = append(r.costs[shape][fields["plugin"]], measured)
	return nil
}

func (r *results) addEviction(fields map[string]string, measured cost) {
	e := eviction{fields["op"], fields["nodes"], fields["jobs"], fields["asked"], fields["again"]}
	if r.evictions[e] == nil {
		r.evictions[e] = map[string][]cost{}
		r.evictionsOrder = append(r.evictionsOrder, e)
	}
	by := fields["devices"] + " " + fields["plugin"]
	r.evictions[e][by] = append(r.evictions[e][by], measured)
}

// rows returns all rows in the order of the tables.
func (r results) rows() []row {
	return slices.SortedFunc(maps.Keys(r.costs), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.queues, b.queues), cmp.Compare(a.depth, b.depth), cmp.Compare(a.pods, b.pods))
	})
}

func median(costs []cost) cost {
	of := func(value func(cost) float64) float64 {
		values := make([]float64, len(costs))
		for i, c := range costs {
			values[i] = value(c)
		}
		return middle(values)
	}
	return cost{of(func(c cost) float64 { return c.nanoseconds }), of(func(c cost) float64 { return c.bytes })}
}
