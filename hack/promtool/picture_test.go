// SPDX-License-Identifier: Apache-2.0

package promtool

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Lengths of the picture. Grafana's grid has 24 columns.
const (
	column, gridRow = 46, 34
	header          = 44
	textRow         = 14
	axis            = 64
	plotHeight      = 96
)

// colours are those that Grafana gives to lines.
var colours = []string{"#56a64b", "#f2a900", "#3274d9", "#e02f44", "#8f3bb8", "#ff780a", "#1f9ba8", "#7c2ea3", "#96701d", "#a6194b", "#37872d", "#1f60c4"}

// stat has the colours of single values.
var stat = map[string]string{"green": "#37872d", "red": "#c4162a"}

// line is a series of a panel.
type line struct {
	name, unit string
	points     []promql.FPoint
}

// last returns the last value, and max the largest, which are in legends.
func (l line) last() (last float64) {
	last = math.NaN()
	for _, p := range l.points {
		if !math.IsNaN(p.F) {
			last = p.F
		}
	}
	return last
}

func (l line) max() (largest float64) {
	largest = math.NaN()
	for _, p := range l.points {
		if math.IsNaN(largest) || p.F > largest {
			largest = p.F
		}
	}
	return largest
}

func (l line) hasValues() bool { return !math.IsNaN(l.max()) }

// drawing is an SVG file.
type drawing struct{ strings.Builder }

func (d *drawing) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(d, `<text x="%.0f" y="%.0f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (d *drawing) box(x, y, width, height float64, fill string) {
	fmt.Fprintf(d, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="3" fill="%s"/>`+"\n", x, y, width, height, fill)
}

// draw draws the panels with their lines, which are by the titles of panels.
func draw(board dashboard, lines map[string][]line) string {
	height := 0
	for _, p := range board.Panels {
		height = max(height, header+(p.GridPos.Y+p.GridPos.H)*gridRow)
	}
	d := &drawing{}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="Inter, Helvetica, Arial, sans-serif">
<style>text { fill: #24292e; font-size: 11px } .title { font-size: 13px; font-weight: 600 } .light { fill: #fff; font-size: 10px; font-weight: 600 } .large { font-size: 18px; font-weight: 600 } .faint { fill: #6e7178 } .value { fill: #fff; font-size: 34px; font-weight: 600 }</style>
`, 24*column, height+4)
	d.box(0, 0, 24*column, float64(height+4), "#f1f2f4")
	d.text(12, 28, "large", "start", board.Title)
	d.text(24*column-12, 28, "faint", "end", fmt.Sprintf("Queue: %s · DeviceClass: %s · last %.0f minutes", strings.Join(chosen["queue"], " + "), strings.Join(chosen["device_class"], " + "), shown.Minutes()))
	for _, p := range board.Panels {
		x, y := float64(p.GridPos.X*column), float64(header+p.GridPos.Y*gridRow)
		width, height := float64(p.GridPos.W*column), float64(p.GridPos.H*gridRow)
		switch {
		case p.Type == "row":
			d.text(x+12, y+20, "title", "start", p.Title)
		case len(lines[p.Title]) == 0:
			d.text(x+14, y+22, "title", "start", p.Title+": no data")
		case p.Type == "stat":
			d.stat(p, lines[p.Title], x+4, y+4, width-8, height-8)
		default:
			d.box(x+4, y+4, width-8, height-8, "#fff")
			d.text(x+14, y+22, "title", "start", p.Title)
			d.plot(lines[p.Title], x+axis, y+34, width-axis-32)
			d.legend(lines[p.Title], x+16, y+34+plotHeight+34, width-32, height-plotHeight-62)
		}
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// stat draws one value in the colour of the threshold that it has reached.
func (d *drawing) stat(p panel, lines []line, x, y, width, height float64) {
	value, colour := lines[0].last(), ""
	for i, s := range p.FieldConfig.Defaults.Thresholds.Steps {
		if i == 0 || value >= s.Value {
			colour = s.Color
		}
	}
	d.box(x, y, width, height, stat[colour])
	d.text(x+10, y+18, "light", "start", p.Title)
	d.text(x+width/2, y+height/2+20, "value", "middle", strconv.FormatFloat(value, 'f', 0, 64))
}

// plot draws lines over two axes.
func (d *drawing) plot(lines []line, x, y, width float64) {
	unit, largest := lines[0].unit, 0.0
	for _, l := range lines {
		largest = max(largest, l.max())
	}
	tick := ticks(largest, unit)
	top := tick * math.Max(1, math.Ceil(largest/tick))
	for value := 0.0; value <= top*1.001; value += tick {
		at := y + plotHeight*(1-value/top)
		fmt.Fprintf(d, `<path d="M%.0f %.1fh%.0f" stroke="#e2e4e7"/>`+"\n", x, at, width)
		d.text(x-6, at+4, "faint", "end", format(value, unit))
	}
	for at := time.Duration(0); at <= shown; at += 5 * time.Minute {
		d.text(x+width*at.Seconds()/shown.Seconds(), y+plotHeight+16, "faint", "middle", fmt.Sprintf("10:%02.0f", at.Minutes()))
	}
	for i, l := range lines {
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>`+"\n", l.path(x, y, width, top), colours[i%len(colours)])
	}
}

// path returns the path of a line, which has gaps where there are no values.
func (l line) path(x, y, width, top float64) string {
	var out strings.Builder
	before := int64(math.MinInt64)
	for i, p := range l.points {
		if math.IsNaN(p.F) {
			continue
		}
		if i > 0 && i < len(l.points)-1 && l.points[i+1].F == p.F && l.points[i-1].F == p.F && l.points[i+1].T-l.points[i-1].T == 2*step.Milliseconds() {
			before = p.T
			continue // on the line between its neighbours
		}
		command := "L"
		if p.T-before != step.Milliseconds() {
			command = "M"
		}
		before = p.T
		fmt.Fprintf(&out, "%s%.1f %.1f", command, x+width*float64(p.T)/float64(shown.Milliseconds()), y+plotHeight*(1-p.F/top))
	}
	return out.String()
}

// legend lists lines with their last and largest values, as many as there is room for. Grafana scrolls.
func (d *drawing) legend(lines []line, x, y, width, height float64) {
	columns := int(width) / 250
	rows := int(height)/textRow - 1
	width /= float64(columns)
	for i, l := range lines {
		left, at := x+width*float64(i/rows), y+float64((i%rows+1)*textRow)
		if i == rows*columns-1 && len(lines) > rows*columns {
			d.text(left+16, at, "faint", "start", fmt.Sprintf("and %d more", len(lines)-i))
			return
		}
		if i%rows == 0 {
			d.text(left+width-60, y, "faint", "end", "Last")
			d.text(left+width-8, y, "faint", "end", "Max")
		}
		d.box(left, at-6, 10, 3, colours[i%len(colours)])
		d.text(left+16, at, "", "start", shorten(l.name, int((width-126)/6.4)))
		d.text(left+width-60, at, "", "end", format(l.last(), l.unit))
		d.text(left+width-8, at, "", "end", format(l.max(), l.unit))
	}
}

// shorten leaves out the middle of a name: its ends tell it from others.
func shorten(name string, to int) string {
	if cut := len(name) - to + 1; cut > 1 {
		return name[:to/3] + "…" + name[to/3+cut:]
	}
	return name
}

// scale returns the factor and the name of Grafana's unit that shows a value with few digits.
func scale(value float64, unit string) (factor float64, name string) {
	switch {
	case unit == "percentunit":
		return 0.01, "%"
	case unit == "bytes" && value >= 1024:
		power := min(math.Floor(math.Log2(value)/10), 5)
		return math.Exp2(power * 10), " " + []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}[int(power)]
	case unit == "bytes":
		return 1, " B"
	case unit == "s" && value < 1:
		return 1e-3, " ms"
	case unit == "ms" && value >= 1000:
		return 1000, " s"
	case unit == "s" || unit == "ms":
		return 1, " " + unit
	}
	return 1, ""
}

func format(value float64, unit string) string {
	factor, name := scale(value, unit)
	value /= factor
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64) + name
	}
	return strconv.FormatFloat(value, 'g', 3, 64) + name
}

// ticks returns the distance of lines at round values.
func ticks(largest float64, unit string) float64 {
	if largest == 0 {
		return 1
	}
	factor, _ := scale(largest, unit)
	rough := largest / factor / 4
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= rough {
			return times * power * factor
		}
	}
	return 10 * power * factor
}
