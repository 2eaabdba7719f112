package crossquota

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantityText is more than any amount needs that a node can have.
const maxQuantityText = 64

var longExponent = regexp.MustCompile(`[[:alpha:]][+-]?[0-9]{3,}`)

// parseQuantity reads an amount that people wrote. Kubernetes computes with quantities digit by
// digit: comparing 1e999999999 with anything takes minutes, and so do longer exponents to be
// read. None may hold up the scheduler.
func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText {
		return resource.Quantity{}, fmt.Errorf("it is longer than %d characters", maxQuantityText)
	}
	if longExponent.MatchString(text) {
		return resource.Quantity{}, errors.New("its exponent has more than two digits")
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, errors.New("it is no quantity such as 32, 500m or 64Gi")
	}
	return q, nil
}
