// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// countedLibrary counts how often a template is read and counted.
type countedLibrary struct {
	library
	reads *int
}

func (l countedLibrary) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	*l.reads++
	return l.library.ClaimTemplate(namespace, name)
}

// TestATemplateThatPodsNameOftenIsCountedOnce matters because many tasks and jobs may name it.
func TestATemplateThatPodsNameOftenIsCountedOnce(t *testing.T) {
	reads := 0
	source := countedLibrary{library{templates: map[string][]resourceapi.DeviceRequest{
		"any": {firstAvailable(exactly("h100", 1), exactly("a100", 1)), {Name: "r", Exactly: ptr.To(exactly("h100", 2))}},
	}}, &reads}
	_, claims := scale()
	minimum, err := ofJob(claims, job(3, task("", 3, -1, slices.Repeat([]string{"any"}, maxClaims)...)), source)
	if err != nil {
		t.Fatal(err)
	}
	if reads != 1 {
		t.Errorf("the template is read %d times, want once", reads)
	}
	if len(minimum.Choices) != 1 || minimum.Choices[0].Pods != 3*maxClaims || minimum.Amounts[0].Amount != ledger.Units(6*maxClaims) {
		t.Errorf("the job needs %v, and its pods make %d choices", minimum.Amounts, len(minimum.Choices))
	}
}

// TestOnlySomeChoicesOfAJobCount checks the bound, because each choice is compared with all others.
func TestOnlySomeChoicesOfAJobCount(t *testing.T) {
	var choices []Choice
	for range 2 {
		for each := range int64(2 * maxChoices) {
			choices = addChoice(choices, choosing(1, each+1))
		}
	}
	if len(choices) != maxChoices || choices[0].Pods != 2 {
		t.Errorf("%d choices count, the first for %d pods, want %d for 2", len(choices), choices[0].Pods, maxChoices)
	}
}
