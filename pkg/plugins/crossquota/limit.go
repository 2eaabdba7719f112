// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limit is how much of one resource non-GPU pods may use on a node: an amount, or a share of the allocatable amount.
type limit struct {
	absolute amount
	// percentage is a percentage of the allocatable amount. It is nil if the limit is absolute.
	percentage *big.Rat
}

// of returns the limit on a node with this allocatable amount. It never exceeds the amount.
func (l limit) of(allocatable amount) amount {
	if l.percentage == nil {
		return min(l.absolute, allocatable)
	}
	part := new(big.Int).Mul(big.NewInt(int64(allocatable)), l.percentage.Num())
	part.Div(part, new(big.Int).Mul(big.NewInt(100), l.percentage.Denom()))
	return amount(part.Int64())
}

func parseQuota(name corev1.ResourceName, text string) (limit, error) {
	q, err := parseQuantity(text)
	if err != nil {
		return limit{}, err
	}
	if q.Sign() < 0 {
		return limit{}, errors.New("it is negative")
	}
	return limit{absolute: atMost(name, q)}, nil
}

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

// percentageFormat matches decimal numbers. It bounds their length to keep arithmetic cheap.
var percentageFormat = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?$`)

// parsePercentage parses a number from 0 to 100.
func parsePercentage(_ corev1.ResourceName, text string) (limit, error) {
	if !percentageFormat.MatchString(text) {
		return limit{}, errors.New("it is not a decimal number such as 25 or 12.5")
	}
	percentage, _ := new(big.Rat).SetString(text)
	if percentage.Sign() < 0 || percentage.Cmp(big.NewRat(100, 1)) > 0 {
		return limit{}, errors.New("it is not between 0 and 100")
	}
	return limit{percentage: percentage}, nil
}

// source is a place where the quota of a resource may be set.
type source struct {
	// annotation and argument are prefixes that the name of the resource follows.
	annotation, argument string
	parse                func(corev1.ResourceName, string) (limit, error)
}

// sources are in the order of precedence. Annotations of a node take precedence over arguments; the
// order is the same for both.
var sources = [...]source{
	{quotaAnnotation, argQuota, parseQuota},
	{percentageAnnotation, argQuotaPercentage, parsePercentage},
}

// fallsBack returns the error about a quota that cannot be read. The next source applies instead.
func fallsBack(kind, key, value string, err error) error {
	if len(value) > maxQuantityText { // keeps the message below the limit of events
		value = value[:maxQuantityText] + "..."
	}
	return fmt.Errorf("%s %s is %q: %w; the next source in the order of precedence applies until it is corrected", kind, key, value, err)
}
