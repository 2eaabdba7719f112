// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantityText is longer than any realistic amount.
const maxQuantityText = 64

var longExponent = regexp.MustCompile(`[[:alpha:]][+-]?[0-9]{3,}`)

// parseQuantity parses a quantity that a user wrote. Kubernetes computes with quantities digit by digit:
// a comparison with 1e999999999 takes minutes, and so does parsing a longer exponent. Such a quantity
// must not block the scheduler.
func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText {
		return resource.Quantity{}, fmt.Errorf("it is longer than %d characters", maxQuantityText)
	}
	if longExponent.MatchString(text) {
		return resource.Quantity{}, errors.New("its exponent has more than two digits")
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, errors.New("it is not a quantity such as 32, 500m or 64Gi")
	}
	return q, nil
}
