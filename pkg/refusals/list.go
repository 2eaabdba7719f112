// SPDX-License-Identifier: Apache-2.0

package refusals

import (
	"fmt"
	"strings"
)

// MaxListed bounds how many names a message lists.
const MaxListed = 5

// List joins the first entries of a list and adds the number of further entries.
func List(entries []string) string {
	if more := len(entries) - MaxListed; more > 0 {
		return strings.Join(entries[:MaxListed], ", ") + fmt.Sprintf(", and %d more", more)
	}
	return strings.Join(entries, ", ")
}
