// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errTime = errors.New("use a date such as 2026-11-01, a time such as 2026-11-01T12:00:00Z, now, or a time before now such as -12h or -7d")

// parseTime parses a time. Dates begin at midnight UTC, as the periods of the record do.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if before, found := strings.CutPrefix(text, "-"); found {
		return parseBefore(before, now)
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errTime
}

// parseBefore subtracts a duration from now. The duration may be in days.
func parseBefore(text string, now time.Time) (time.Time, error) {
	if number, found := strings.CutSuffix(text, "d"); found {
		const most = 36500
		if days, err := strconv.Atoi(number); err == nil && days >= 0 && days <= most {
			return now.Add(-time.Duration(days) * 24 * time.Hour), nil
		}
		return time.Time{}, errTime
	}
	if before, err := time.ParseDuration(text); err == nil && before >= 0 {
		return now.Add(-before), nil
	}
	return time.Time{}, errTime
}
