// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/devicequota/devicequota/pkg/card"
)

func readBool(value any) (bool, error) {
	is, ok := value.(bool)
	if !ok {
		return false, errors.New("write true or false, without quotes")
	}
	return is, nil
}

func readNumber(value any) (float64, error) {
	switch n := value.(type) {
	case float64:
		return n, nil
	case int:
		return float64(n), nil
	default:
		return 0, errors.New("write a number, without quotes")
	}
}

// readTimeout reads a duration such as 10m.
func readTimeout(value any) (time.Duration, error) {
	timeout, err := time.ParseDuration(fmt.Sprint(value))
	if err == nil && timeout <= 0 {
		err = errors.New("it must be more than zero")
	}
	return timeout, err
}

// readAccounting reads one of the known values.
func readAccounting(value any) (string, error) {
	switch value {
	case AccountRequested, AccountMatching:
		return value.(string), nil
	default:
		return "", fmt.Errorf("write %s or %s", AccountRequested, AccountMatching)
	}
}

// readResourceNames reads a list, or a string with commas.
func readResourceNames(value any) (card.ResourceNames, error) {
	list, err := readNames(value)
	if err != nil {
		return nil, err
	}
	names := card.ResourceNames(list)
	if err := names.Check(); err != nil {
		return nil, err
	}
	return names, nil
}

// readNames reads a list, or a string with commas.
func readNames(value any) ([]string, error) {
	var names []string
	switch list := value.(type) {
	case string:
		for name := range strings.SplitSeq(list, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	case []any:
		for _, entry := range list {
			name, ok := entry.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not the name of a resource", entry)
			}
			names = append(names, name)
		}
	default:
		return nil, fmt.Errorf("%v is not a list of names of resources", value)
	}
	return names, nil
}
