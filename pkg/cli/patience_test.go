// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answersAfter answers after a time.
type answersAfter time.Duration

// RoundTrip implements http.RoundTripper.
func (a answersAfter) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(a))
	return &http.Response{StatusCode: http.StatusOK}, nil
}

func TestACommandSaysThatItWaitsForTheScheduler(t *testing.T) {
	for took, says := range map[time.Duration]bool{time.Second: false, 20 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			var told bytes.Buffer
			response, err := patient{answersAfter(took), &told, patience}.RoundTrip(&http.Request{})
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response, err)
			}
			if said := strings.Contains(told.String(), "The scheduler has not answered for 5s"); said != says {
				t.Errorf("after %s: %q", took, told.String())
			}
		})
	}
}
