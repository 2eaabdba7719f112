package crossquota

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// limit is how much non-GPU pods may take of one resource of a node, before it is known how much
// the node has.
type limit struct {
	absolute amount
	// percentage is of what the node has; nil when the limit is absolute.
	percentage *big.Rat
}

// of is the limit on a node that has so much; never more than it has.
func (l limit) of(allocatable amount) amount {
	if l.percentage == nil {
		return min(l.absolute, allocatable)
	}
	part := new(big.Int).Mul(big.NewInt(int64(allocatable)), l.percentage.Num())
	part.Div(part, new(big.Int).Mul(big.NewInt(100), l.percentage.Denom()))
	return amount(part.Int64())
}

// parseQuota reads an amount in any form that Kubernetes reads.
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

// percentageFormat is a decimal number. The bounds on its length keep arithmetic with it cheap.
var percentageFormat = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?$`)

// parsePercentage reads a number from 0 to 100.
func parsePercentage(_ corev1.ResourceName, text string) (limit, error) {
	if !percentageFormat.MatchString(text) {
		return limit{}, errors.New("it is no decimal number such as 25 or 12.5")
	}
	percentage, _ := new(big.Rat).SetString(text)
	if percentage.Sign() < 0 || percentage.Cmp(big.NewRat(100, 1)) > 0 {
		return limit{}, errors.New("it is not between 0 and 100")
	}
	return limit{percentage: percentage}, nil
}

// source is a place where the quota of a resource may be written.
type source struct {
	// annotation and argument are what the name of the resource follows.
	annotation, argument string
	parse                func(corev1.ResourceName, string) (limit, error)
}

// sources are ordered: what nodes say in the first counts for more than in the second, and
// either for more than the arguments, which are ordered alike.
var sources = [...]source{
	{quotaAnnotation, argQuota, parseQuota},
	{percentageAnnotation, argQuotaPercentage, parsePercentage},
}

// fallsBack says what is wrong with a quota, and that the next one counts.
func fallsBack(kind, key, value string, err error) error {
	if len(value) > maxQuantityText { // more than an event has room for, maybe
		value = value[:maxQuantityText] + "..."
	}
	return fmt.Errorf("%s %s is %q: %w; the next in the order of precedence counts, until it is corrected", kind, key, value, err)
}
