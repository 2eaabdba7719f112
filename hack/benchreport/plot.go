// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// panel is a plot of the cost of an operation against one number of the cluster.
type panel struct {
	op, against string
	size        func(row) int
}

var panels = []panel{
	{"Allocatable", "queues above a leaf", func(r row) int { return r.depth }},
	{"Preemption", "queues", func(r row) int { return r.queues }},
	{"Enqueue", "queues above a leaf", func(r row) int { return r.depth }},
	{"SessionOpen", "pods", func(r row) int { return r.pods }},
}

const (
	width, height = 360, 260
	left, right   = 70, 30
	top, bottom   = 40, 45
)

var colours = map[string]string{"upstream": "#c0392b", "ours": "#1f6fb2"}

// plot draws the panels with logarithmic scales, two in a row.
func plot(r results) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", 2*width, 2*height)
	fmt.Fprintln(&out, `<rect width="100%" height="100%" fill="white"/>`)
	for i, p := range panels {
		fmt.Fprintf(&out, `<g transform="translate(%d %d)">`+"\n", i%2*width, i/2*height)
		p.draw(&out, r)
		fmt.Fprintln(&out, `</g>`)
	}
	fmt.Fprintln(&out, `</svg>`)
	return out.Bytes()
}

// line returns the longest series of rows that differ only in the panel's number.
func (p panel) line(r results) []row {
	series := map[row][]row{}
	for _, candidate := range r.rows() {
		if candidate.op != p.op {
			continue
		}
		rest := candidate
		switch p.size(row{queues: 1, depth: 2, pods: 3}) {
		case 1:
			rest.queues = 0
		case 2:
			rest.depth = 0
		case 3:
			rest.pods = 0
		}
		series[rest] = append(series[rest], candidate)
	}
	var longest []row
	for _, rows := range series {
		if len(rows) > len(longest) {
			longest = rows
		}
	}
	slices.SortFunc(longest, func(a, b row) int { return cmp.Compare(p.size(a), p.size(b)) })
	return longest
}

func (p panel) draw(out *bytes.Buffer, r results) {
	rows := p.line(r)
	fmt.Fprintf(out, `<text x="%d" y="20" font-size="14" font-weight="bold">%s</text>`+"\n", left, p.op)
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-8, p.against)
	if len(rows) < 2 {
		return
	}
	low, high := math.Inf(1), 0.0
	for _, row := range rows {
		for plugin := range colours {
			low, high = min(low, r.median(row, plugin).nanoseconds), max(high, r.median(row, plugin).nanoseconds)
		}
	}
	low, high = math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	first, last := math.Log(float64(p.size(rows[0]))), math.Log(float64(p.size(rows[len(rows)-1])))
	x := func(size int) float64 {
		return left + (math.Log(float64(size))-first)/(last-first)*(width-left-right)
	}
	y := func(nanoseconds float64) float64 {
		return height - bottom - (math.Log10(nanoseconds)-low)/(high-low)*(height-top-bottom)
	}
	for power := low; power <= high; power++ {
		fmt.Fprintf(out, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, width-right, y(math.Pow(10, power)), y(math.Pow(10, power)))
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, y(math.Pow(10, power))+4, duration(math.Pow(10, power)))
	}
	for _, row := range rows {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(p.size(row)), height-bottom+16, p.size(row))
	}
	for _, plugin := range []string{"upstream", "ours"} {
		points := ""
		for _, row := range rows {
			points += fmt.Sprintf("%.1f,%.1f ", x(p.size(row)), y(r.median(row, plugin).nanoseconds))
		}
		fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", points, colours[plugin])
		end := rows[len(rows)-1]
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", width-right, y(r.median(end, plugin).nanoseconds)-6, colours[plugin], plugin)
	}
}
