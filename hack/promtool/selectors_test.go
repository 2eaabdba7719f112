// SPDX-License-Identifier: Apache-2.0

// Package promtool pins promtool, and checks with Prometheus' own parser that the alerts and the dashboard read only exported metrics.
package promtool

import (
	"log/slog"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// exported returns the series that a scheduler and a dispatcher exported, by the name of the metric.
func exported(t *testing.T) map[string][]labels.Labels {
	t.Helper()
	all := map[string][]labels.Labels{}
	for _, file := range []string{"../../bin/scheduler-metrics.txt", "../../test/monitoring/testdata/dispatcher-metrics.txt"} {
		text, err := os.Open(file)
		if err != nil {
			t.Fatalf("%v: run `make test-monitoring`", err)
		}
		textParser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := textParser.TextToMetricFamilies(text)
		_ = text.Close()
		if err != nil {
			t.Fatal(err)
		}
		for name, family := range families {
			for _, m := range family.GetMetric() {
				add(all, name, family.GetType(), m.GetLabel())
			}
		}
	}
	return all
}

// add adds the series of one metric. A histogram has series with three names.
func add(all map[string][]labels.Labels, name string, kind dto.MetricType, pairs []*dto.LabelPair) {
	values := map[string]string{}
	for _, pair := range pairs {
		values[pair.GetName()] = pair.GetValue()
	}
	if kind != dto.MetricType_HISTOGRAM {
		all[name] = append(all[name], labels.FromMap(values))
		return
	}
	for _, suffix := range []string{"_sum", "_count"} {
		all[name+suffix] = append(all[name+suffix], labels.FromMap(values))
	}
	bucket := maps.Clone(values)
	bucket["le"] = "+Inf"
	all[name+"_bucket"] = append(all[name+"_bucket"], labels.FromMap(bucket))
}

// alerts returns the expressions of the alerts, by their names.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../../config/monitoring/rules.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]string{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule.Expr
		}
	}
	return all
}

// panels returns the expressions of the dashboard, by the titles of their panels, and the expressions of its variables.
func panels(t *testing.T) (panels, variables map[string]string) {
	t.Helper()
	dashboard := readDashboard(t)
	panels, variables = map[string]string{}, map[string]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			panels[panel.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, variable := range dashboard.Templating.List {
		if variable.Definition != "" {
			variables[variable.Name] = variable.Definition
		}
	}
	return panels, variables
}

// choice matches a variable of the dashboard, which stands for all values here.
var choice = regexp.MustCompile(`\$\w+`)

func TestAlertsAndPanelsReadWhatIsExported(t *testing.T) {
	series := exported(t)
	expressions, _ := panels(t)
	maps.Copy(expressions, alerts(t))
	if len(expressions) < 40 {
		t.Errorf("only %d expressions", len(expressions))
	}
	for name, text := range expressions {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(choice.ReplaceAllString(text, ".*"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
			switch node := node.(type) {
			case *parser.VectorSelector:
				if !exists(series, node) {
					t.Errorf("%s: nothing that is exported matches %s", name, node)
				}
			case *parser.AggregateExpr:
				for _, label := range node.Grouping {
					if !hasLabel(series, node, label) {
						t.Errorf("%s: nothing that is exported has the label %s of %s", name, label, node)
					}
				}
			}
			return nil
		})
	}
}

// exists reports whether a series matches a selector. A label that the series lacks is a typing mistake, even if the selector matches all
// values.
func exists(series map[string][]labels.Labels, selector *parser.VectorSelector) bool {
	for _, one := range series[selector.Name] {
		matches := true
		for _, m := range selector.LabelMatchers {
			if m.Name != labels.MetricName {
				matches = matches && one.Has(m.Name) && m.Matches(one.Get(m.Name))
			}
		}
		if matches {
			return true
		}
	}
	return false
}

// hasLabel reports whether each metric below an aggregation has a label.
func hasLabel(series map[string][]labels.Labels, expr *parser.AggregateExpr, label string) bool {
	has := true
	parser.Inspect(expr.Expr, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			for _, one := range series[selector.Name] {
				has = has && one.Has(label)
			}
		}
		return nil
	})
	return has
}

// definition matches the definition of a variable: label_values(metric, label).
var definition = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

func TestVariablesReadWhatIsExported(t *testing.T) {
	series := exported(t)
	_, variables := panels(t)
	for name, text := range variables {
		parts := definition.FindStringSubmatch(text)
		if parts == nil || len(series[parts[1]]) == 0 || !series[parts[1]][0].Has(parts[2]) {
			t.Errorf("%s: nothing that is exported matches %s", name, text)
		}
	}
	if len(variables) != 2 {
		t.Errorf("variables: %v", variables)
	}
}

// reasons matches a selector of reasons. Each of its alternatives must exist.
var reasons = regexp.MustCompile(`reason[=!]~"([\w|]+)"`)

func TestAlertsKnowTheReasons(t *testing.T) {
	known := map[string]bool{}
	for name, list := range exported(t) {
		if name == "volcano_queue_problems" || name == "volcano_queue_waiting_pods" {
			for _, one := range list {
				known[one.Get("reason")] = true
			}
		}
	}
	// The scheduler of the test provokes only one refusal.
	known["InsufficientCPUQuota"], known["InsufficientMemoryQuota"] = true, true
	for name, expr := range alerts(t) {
		for _, m := range reasons.FindAllStringSubmatch(expr, -1) {
			for reason := range strings.SplitSeq(m[1], "|") {
				if !known[reason] {
					t.Errorf("%s: there is no reason %s", name, reason)
				}
			}
		}
	}
}
