// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/metrics"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// lookback is for how long the scheduler may have exported nothing. Its counters stand still meanwhile.
const lookback = "1d"

// fromPrometheus returns by how much the counters have grown. They never decrease, and say the same whichever scheduler exports them, so
// that the difference is exact. Days says that each day is apart. The note says what cannot be told apart.
func fromPrometheus(ctx context.Context, address string, asked span, days bool) (all []usage, note string, err error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, "", fmt.Errorf("--prometheus-url=%s is not a URL such as http://localhost:9090", address)
	}
	before, err := readCounters(ctx, base, asked.from)
	if err != nil {
		return nil, "", err
	}
	unknown := len(before) == 0
	for begin := asked.from; begin.Before(asked.to); {
		end := asked.to
		if midnight := begin.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); days && midnight.Before(end) {
			end = midnight
		}
		after, err := readCounters(ctx, base, end)
		if err != nil {
			return nil, "", err
		}
		if len(after) == 0 {
			after = before // nobody exported anything for longer than the lookback
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

// readCounters returns the values of all counters at a time.
func readCounters(ctx context.Context, base *url.URL, at time.Time) (accounting.Sums, error) {
	all := accounting.Sums{}
	for measure, list := range metrics.Counters {
		for i := range list {
			values, err := query(ctx, base, list[i].Name, at)
			if err != nil {
				return nil, err
			}
			for series, amount := range values {
				series.Measure = measure
				all[series] = amount
			}
		}
	}
	return all, nil
}

// response is what Prometheus answers to an instant query.
type response struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Result []struct {
			Metric map[string]string  `json:"metric"`
			Value  [2]json.RawMessage `json:"value"`
		} `json:"result"`
	} `json:"data"`
}

// query returns the values of a counter at a time.
func query(ctx context.Context, base *url.URL, name string, at time.Time) (map[accounting.Series]ledger.Amount, error) {
	values := url.Values{"query": {"last_over_time(" + name + "[" + lookback + "])"}, "time": {strconv.FormatInt(at.Unix(), 10)}}
	address := base.JoinPath("api/v1/query")
	address.RawQuery = values.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer answer.Body.Close()
	var result response
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil {
		return nil, fmt.Errorf("ask Prometheus at %s: status %s, and no JSON: %w", base, answer.Status, err)
	}
	if result.Status != "success" {
		return nil, fmt.Errorf("ask Prometheus for %s: %s", name, result.Error)
	}
	sums := accounting.Sums{}
	for i := range result.Data.Result {
		amount, err := parseValue(result.Data.Result[i].Value[1])
		if err != nil {
			return nil, fmt.Errorf("ask Prometheus for %s: %w", name, err)
		}
		series, err := seriesOf(result.Data.Result[i].Metric)
		if err != nil {
			return nil, fmt.Errorf("read %s of Prometheus: %w", name, err)
		}
		// Several replicas or addresses of a scheduler export the same record.
		if amount.Cmp(sums[series]) > 0 {
			sums[series] = amount
		}
	}
	return sums, nil
}

func parseValue(encoded json.RawMessage) (ledger.Amount, error) {
	var text string
	if err := json.Unmarshal(encoded, &text); err != nil {
		return ledger.Amount{}, err
	}
	value, valid := new(big.Rat).SetString(text)
	if !valid {
		return ledger.Amount{}, errors.New(text + " is not a number")
	}
	const nano = 1_000_000_000
	value.Mul(value, big.NewRat(nano, 1))
	return ledger.FromNano(new(big.Int).Quo(value.Num(), value.Denom()))
}

// seriesOf returns what the labels of a counter stand for.
func seriesOf(labels map[string]string) (accounting.Series, error) {
	series := accounting.Series{Queue: labels["queue"], Namespace: labels["namespace"]}
	if exported := labels["exported_namespace"]; exported != "" { // Prometheus has a label namespace of its own for the scheduler
		series.Namespace = exported
	}
	for name, value := range labels {
		if strings.HasPrefix(name, "label_") {
			series.Label = value
		}
	}
	var err error
	series.Dimension, err = ledger.ParseLabels(func(label string) string { return labels[label] })
	return series, err
}
