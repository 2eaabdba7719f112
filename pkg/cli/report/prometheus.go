// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/metrics"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// lookback limits for how long the scheduler may have exported nothing. Its counters do not change during this time.
const lookback = "1d"

// fromPrometheus returns the growth of the counters. It is exact, because counters never decrease and each scheduler exports the same values. Days
// returns each day separately. The note says if the report includes earlier usage.
func fromPrometheus(ctx context.Context, address string, asked span, days bool) (all []usage, note string, err error) {
	prometheus, err := connect(address)
	if err != nil {
		return nil, "", err
	}
	before, err := readCounters(ctx, prometheus, asked.from)
	if err != nil {
		return nil, "", err
	}
	unknown := len(before) == 0
	for begin := asked.from; begin.Before(asked.to); {
		end := asked.to
		if midnight := begin.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); days && midnight.Before(end) {
			end = midnight
		}
		after, err := readCounters(ctx, prometheus, end)
		if err != nil {
			return nil, "", err
		}
		if len(after) == 0 {
			after = before // no scheduler exported anything for longer than the lookback
		}
		for series, amount := range after {
			grown, subErr := amount.Sub(before[series])
			if subErr != nil || grown.Sign() < 0 {
				return nil, "", fmt.Errorf("the counters of queue %s decrease between %s and %s: the record of usage was deleted",
					series.Queue, begin.Format(time.RFC3339), end.Format(time.RFC3339))
			}
			all = append(all, usage{series, begin, grown})
		}
		begin, before = end, after
	}
	if unknown && len(all) > 0 {
		note = "Prometheus has no counters of " + asked.from.UTC().Format(time.RFC3339) + ": all that was recorded before counts, too. Begin later, or use --source=record."
	}
	return all, note, nil
}

func connect(address string) (promv1.API, error) {
	if base, err := url.Parse(address); err != nil || base.Host == "" {
		return nil, fmt.Errorf("--prometheus-url=%s is not a URL such as http://localhost:9090", address)
	}
	client, err := api.NewClient(api.Config{Address: address})
	return promv1.NewAPI(client), err
}

// readCounters returns the values of all counters at a time.
func readCounters(ctx context.Context, prometheus promv1.API, at time.Time) (accounting.Sums, error) {
	all := accounting.Sums{}
	for measure, list := range metrics.Counters {
		for i := range list {
			values, err := query(ctx, prometheus, list[i].Name, at)
			if err != nil {
				return nil, fmt.Errorf("ask Prometheus for %s: %w", list[i].Name, err)
			}
			for series, amount := range values {
				series.Measure = measure
				all[series] = amount
			}
		}
	}
	return all, nil
}

// query returns the values of a counter at a time.
func query(ctx context.Context, prometheus promv1.API, name string, at time.Time) (accounting.Sums, error) {
	answer, _, err := prometheus.Query(ctx, "last_over_time("+name+"["+lookback+"])", at.Truncate(time.Second))
	if err != nil {
		return nil, err
	}
	samples, is := answer.(model.Vector)
	if !is {
		return nil, fmt.Errorf("the answer is a %s", answer.Type())
	}
	sums := accounting.Sums{}
	for _, sample := range samples {
		amount, err := amountOf(sample.Value)
		if err != nil {
			return nil, err
		}
		series, err := seriesOf(sample.Metric)
		if err != nil {
			return nil, err
		}
		// Several replicas or addresses of a scheduler export the same record.
		if amount.Cmp(sums[series]) > 0 {
			sums[series] = amount
		}
	}
	return sums, nil
}

// amountOf parses the text of a value. The text has the exported digits, and the binary number may have more.
func amountOf(value model.SampleValue) (ledger.Amount, error) {
	exact, valid := new(big.Rat).SetString(value.String())
	if !valid {
		return ledger.Amount{}, errors.New(value.String() + " is not a number")
	}
	exact.Mul(exact, new(big.Rat).SetInt64(ledger.Whole))
	return ledger.FromNano(new(big.Int).Quo(exact.Num(), exact.Denom()))
}

// seriesOf returns the series that the labels of a counter identify.
func seriesOf(labels model.Metric) (accounting.Series, error) {
	value := func(label string) string { return string(labels[model.LabelName(label)]) }
	series := accounting.Series{Queue: value("queue"), Namespace: value("namespace")}
	if exported := value("exported_namespace"); exported != "" { // Prometheus uses the label namespace for the scheduler
		series.Namespace = exported
	}
	for name, of := range labels {
		if strings.HasPrefix(string(name), "label_") {
			series.Label = string(of)
		}
	}
	var err error
	series.Dimension, err = ledger.ParseLabels(value)
	return series, err
}
