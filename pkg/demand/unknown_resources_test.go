// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestFewOfManyUnknownResourcesAreNamed matters because a pod may request thousands, and each session formats the message.
func TestFewOfManyUnknownResourcesAreNamed(t *testing.T) {
	f := newFixture(t)
	f.Configure(Options{}, Serving{})
	values := Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{}}
	for i := range 3000 {
		values.Scalars[corev1.ResourceName(fmt.Sprintf("example.com/made-up-%04d", i))] = 1000
	}
	_, err := f.Resources.Requested(values)
	var unknown UnknownResourceError
	if !errors.As(err, &unknown) || unknown.Resource != "example.com/made-up-0000" {
		t.Fatalf("the first error is %v", unknown)
	}
	lines := strings.Split(err.Error(), "\n")
	if want := "and 2992 more resources that no node offers"; len(lines) != maxUnknown+1 || lines[maxUnknown] != want {
		t.Errorf("there are %d lines, the last is %q, want %q", len(lines), lines[len(lines)-1], want)
	}
}
