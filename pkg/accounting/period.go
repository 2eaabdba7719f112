// SPDX-License-Identifier: Apache-2.0

package accounting

import "time"

// Period is the length of the periods for which the record of the cluster has sums. It divides a day.
type Period time.Duration

// Valid reports whether periods begin at midnight UTC and at full hours.
func (p Period) Valid() bool {
	d := time.Duration(p)
	return d >= time.Hour && d%time.Hour == 0 && (24*time.Hour)%d == 0
}

// String returns a duration such as 24h0m0s.
func (p Period) String() string { return time.Duration(p).String() }

// Start returns the start of the period around a time.
func (p Period) Start(t time.Time) time.Time { return t.UTC().Truncate(time.Duration(p)) }

// End returns the end of the period around a time.
func (p Period) End(t time.Time) time.Time { return p.Start(t).Add(time.Duration(p)) }
