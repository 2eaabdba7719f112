// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/devicequota/devicequota/pkg/accounting"
)

// Accounting holds the settings for the record of usage.
type Accounting struct {
	Enabled bool
	// Label is the pod label by which usage is recorded, or empty.
	Label     string
	Resources []string
	Interval  time.Duration
	Period    accounting.Period
	Retention time.Duration
}

var defaultAccounting = Accounting{Enabled: true, Interval: time.Minute, Period: accounting.Period(24 * time.Hour), Retention: 90 * 24 * time.Hour}

// Records reports whether usage of a resource is recorded.
func (a *Accounting) Records(resource string) bool { return slices.Contains(a.Resources, resource) }

// readPeriod reads a duration such as 6h.
func readPeriod(value any) (accounting.Period, error) {
	length, err := readTimeout(value)
	if err != nil {
		return 0, err
	}
	if period := accounting.Period(length); period.Valid() {
		return period, nil
	}
	return 0, errors.New("it must be full hours, and a day must consist of such periods")
}

// readLabel reads the key of a label.
func readLabel(value any) (string, error) {
	label := fmt.Sprint(value)
	if problems := validation.IsQualifiedName(label); len(problems) > 0 {
		return "", errors.New(strings.Join(problems, ", "))
	}
	return label, nil
}
