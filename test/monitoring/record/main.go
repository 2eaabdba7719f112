// SPDX-License-Identifier: Apache-2.0

// Command record plays the example in docs/monitoring.md, a quarter of an hour in the cluster of config/samples/large behind a dispatcher. It
// writes what the scheduler and the dispatcher export to the file of its argument, in the notation of Prometheus' tests. Only metrics that the
// dashboard reads are written. Its working directory is the root of the repository.
package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	dashboard = "config/monitoring/dashboard.json"
	story     = "test/monitoring/record/story.sh"

	member = "member1"
	// The steps of the picture, in hack/promtool, are as long.
	interval        = 20 * time.Second
	scrapesInMinute = 3
	scrapes         = 15*scrapesInMinute + 1

	// missing is a value that is not there, in Prometheus' notation.
	missing = "_"
	// stale ends a series.
	stale = "stale"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "record: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	text, err := os.ReadFile(dashboard)
	if err != nil {
		return err
	}
	r := recording{wanted: map[string]bool{}, series: map[string][]string{}}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
		r.wanted[word] = true
	}
	k, err := cluster.StartKarmada(ctx, cluster.KarmadaOptions{Members: []cluster.Member{{Name: member, Options: cluster.Options{
		SchedulerArgs: []string{"--leader-elect=true", "--leader-elect-resource-namespace=volcano-system", "--schedule-period=1s"},
	}}}})
	if err != nil {
		return err
	}
	defer k.Stop() //nolint:errcheck // the recording is complete
	dispatcher, err := k.StartDispatcher(ctx, "record", cluster.DispatcherOptions{Args: []string{"--dispatch-period=1s"}})
	if err != nil {
		return err
	}
	for tick := time.NewTicker(interval); r.scrapes < scrapes; <-tick.C {
		if r.scrapes%scrapesInMinute == 0 {
			if err := play(ctx, k, r.scrapes/scrapesInMinute); err != nil {
				return err
			}
		}
		if err := r.scrape(ctx, map[string]string{"scheduler": k.Member(member).SchedulerMetricsURL(), "dispatcher": dispatcher.MetricsURL()}); err != nil {
			return err
		}
	}
	return os.WriteFile(file, r.text(), 0o644) //nolint:gosec // everybody may read it
}

// play applies what comes in a minute of the story.
func play(ctx context.Context, k *cluster.Karmada, minute int) error {
	for name, apply := range map[string]func(context.Context, string, []byte) error{"member": k.Member(member).ApplyYAML, "karmada": k.ApplyYAML} {
		manifests, err := exec.CommandContext(ctx, story, strconv.Itoa(minute), name).Output()
		if err == nil && len(manifests) > 0 {
			err = apply(ctx, fmt.Sprintf("%s %d", name, minute), manifests)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recording has the values of series over time.
type recording struct {
	wanted  map[string]bool
	series  map[string][]string
	scrapes int
}

// scrape reads the metrics of instances. Prometheus adds a label with their names.
func (r *recording) scrape(ctx context.Context, instances map[string]string) error {
	for instance, url := range instances {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		var parser expfmt.TextParser
		families, err := parser.TextToMetricFamilies(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		if err := r.add(instance, families); err != nil {
			return err
		}
	}
	r.scrapes++
	return nil
}

func (r *recording) add(instance string, families map[string]*dto.MetricFamily) error {
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return err
		}
		for _, sample := range samples {
			if !r.wanted[string(sample.Metric[model.MetricNameLabel])] {
				continue
			}
			sample.Metric[model.InstanceLabel] = model.LabelValue(instance)
			name := sample.Metric.String()
			r.series[name] = append(pad(r.series[name], r.scrapes), sample.Value.String())
		}
	}
	return nil
}

// pad fills up values that are missing. As in a scrape, a series that has ended is stale.
func pad(values []string, to int) []string {
	for len(values) < to {
		if len(values) == 0 || values[len(values)-1] == missing || values[len(values)-1] == stale {
			values = append(values, missing)
		} else {
			values = append(values, stale)
		}
	}
	return values
}

// text returns the series in the notation of Prometheus' tests: 5x3 is 5 and the same three times more.
func (r *recording) text() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# Written by test/monitoring/record.\nload %s\n", interval)
	for _, name := range slices.Sorted(maps.Keys(r.series)) {
		out.WriteString("  " + name)
		for values := pad(r.series[name], r.scrapes); len(values) > 0; {
			n := 1
			for n < len(values) && values[n] == values[0] {
				n++
			}
			out.WriteString(" " + values[0])
			if values[0] == missing {
				fmt.Fprintf(&out, "x%d", n)
			} else if n > 1 {
				fmt.Fprintf(&out, "x%d", n-1)
			}
			values = values[n:]
		}
		out.WriteString("\n")
	}
	return []byte(out.String())
}
