// SPDX-License-Identifier: Apache-2.0

package promtool

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

var update = flag.Bool("update", false, "draw the picture of the dashboard again")

const (
	picture   = "../../docs/images/dashboard.svg"
	recording = "testdata/recording.txt"

	// The recording has a scrape for each step.
	shown = 15 * time.Minute
	step  = 20 * time.Second
)

// dashboard is the part of dashboard.json that tells what Grafana shows.
type dashboard struct {
	Title      string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

type panel struct {
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr, LegendFormat, RefID string }
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct {
					Color string
					Value float64
				}
			}
		}
		Overrides []struct {
			Matcher    struct{ Options string }
			Properties []struct{ Value string }
		}
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../../config/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// chosen are the values of variables in the picture.
var chosen = map[string][]string{"queue": {"language", "vision", "search", "ads"}, "device_class": {"nvidia-h100"}}

// TestThePictureShowsTheDashboard evaluates what the panels show for a recording of a real scheduler and dispatcher, and compares the drawing.
func TestThePictureShowsTheDashboard(t *testing.T) {
	recorded, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	series, d := promqltest.LoadedStorage(t, string(recorded)), readDashboard(t)
	lines := map[string][]line{}
	for _, p := range d.Panels {
		lines[p.Title] = evaluate(t, engine, series, p)
		if p.Type != "row" && !slices.ContainsFunc(lines[p.Title], line.hasValues) {
			t.Errorf("panel %q: no data", p.Title)
		}
	}
	now := draw(d, lines)
	if *update {
		if err := os.WriteFile(picture, []byte(now), 0o644); err != nil { //nolint:gosec // everybody may read it
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if now != string(before) {
		t.Errorf("the dashboard shows something else than %s: run the test with -update, and look at the picture", picture)
	}
}

// placeholder is a label in the name of a series.
var placeholder = regexp.MustCompile(`{{\w+}}`)

// evaluate returns the lines of a panel, as Grafana asks for them: with the chosen values in place of variables.
func evaluate(t *testing.T, engine *promql.Engine, series storage.Queryable, p panel) (lines []line) {
	t.Helper()
	for _, target := range p.Targets {
		expr := choice.ReplaceAllStringFunc(target.Expr, func(variable string) string { return "(" + strings.Join(chosen[variable[1:]], "|") + ")" })
		query, err := engine.NewRangeQuery(t.Context(), series, nil, expr, time.Unix(0, 0), time.Unix(0, 0).Add(shown), step)
		if err != nil {
			t.Fatalf("panel %q: %v", p.Title, err)
		}
		matrix, err := query.Exec(t.Context()).Matrix()
		if err != nil {
			t.Fatalf("panel %q: %v", p.Title, err)
		}
		for _, one := range matrix {
			name := placeholder.ReplaceAllStringFunc(target.LegendFormat, func(label string) string { return one.Metric.Get(strings.Trim(label, "{}")) })
			lines = append(lines, line{name, p.unitOf(name), slices.Clone(one.Floats)})
		}
		query.Close()
	}
	return lines
}

// unitOf returns the unit of a series.
func (p panel) unitOf(name string) string {
	for _, o := range p.FieldConfig.Overrides {
		if regexp.MustCompile(strings.Trim(o.Matcher.Options, "/")).MatchString(name) {
			return o.Properties[0].Value
		}
	}
	return p.FieldConfig.Defaults.Unit
}

// labelName is the name of a label in the text of a series.
var labelName = regexp.MustCompile(`[{ ](\w+)="`)

// TestTheRecordingHasWhatIsExported finds metrics and labels that have changed since the recording.
func TestTheRecordingHasWhatIsExported(t *testing.T) {
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	series := exported(t)
	for row := range strings.Lines(string(text)) {
		name, rest, is := strings.Cut(strings.TrimSpace(row), "{")
		if !is {
			continue
		}
		var recorded []string
		for _, match := range labelName.FindAllStringSubmatch("{"+rest, -1) {
			if match[1] != "instance" { // which Prometheus adds
				recorded = append(recorded, match[1])
			}
		}
		slices.Sort(recorded)
		same := func(one labels.Labels) bool { return slices.Equal(slices.Sorted(maps.Keys(one.Map())), recorded) }
		if !slices.ContainsFunc(series[name], same) {
			t.Errorf("nothing that is exported has the name %s and the labels %q: run test/monitoring/record", name, recorded)
		}
	}
}
