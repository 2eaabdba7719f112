// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// growth says why a workload with a grant must wait for more, for people. It returns "" if it need not wait. A workload that can no
// longer be read or counted waits, too.
func growth(t *workload.Template, rb *workv1alpha2.ResourceBinding, unreadable error,
	exceeds func(*workload.Template, *workv1alpha2.ResourceBinding) ([]binding.Amount, error),
) string {
	if unreadable != nil {
		return fmt.Sprintf("it cannot be counted: %v", unreadable)
	}
	amounts, err := exceeds(t, rb)
	if err != nil {
		return fmt.Sprintf("it cannot be counted: %v", err)
	}
	if len(amounts) == 0 {
		return ""
	}
	return "it needs more than it was granted: " + listed(amounts) + " more"
}

// listed formats amounts for people.
func listed(amounts []binding.Amount) string {
	texts := make([]string, len(amounts))
	for i, a := range amounts {
		texts[i] = fmt.Sprintf("%s of %s", a.Amount, a.Dimension)
	}
	return strings.Join(texts, ", ")
}

// unnoted returns notes of the names of claims and claim templates that a workload names and its grant does not note: the dispatcher has not had a
// cycle since clusters may have the template. While the workload is held, the dispatcher does not note them either.
func unnoted(t *workload.Template, grant *binding.Grant) (notes []string) {
	for i := range t.Pods {
		set := &t.Pods[i]
		if grant == nil || set.Template == nil || set.Count <= 0 && (!t.Replaces || len(grant.Amounts) == 0) {
			continue // no pod was made of it, so that its user may still create what it names
		}
		notes = append(notes, grant.Unnoted(set.Template.Spec.ResourceClaims)...)
	}
	return notes
}
