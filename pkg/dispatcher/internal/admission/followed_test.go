// SPDX-License-Identifier: Apache-2.0

package admission

import "testing"

// inZone1 is the placement of a former policy.
const inZone1 = `{"clusterAffinity":{"clusterNames":["m1"]}}`

// followed adds Karmada's record of the placement that its scheduler has followed. The current one is {}.
func followed(placement string) option {
	return annotated("policy.karmada.io/applied-placement", placement)
}

func TestWhichPlacementKarmadaHasFollowed(t *testing.T) {
	for _, c := range []bindingCase{
		{name: "is the current one when its scheduler says so", old: newBinding(granting, followed(inZone1)), asked: newBinding(granting, followed("{}")), want: newBinding(granting, followed("{}"))},
		{name: "is not forgotten", old: newBinding(granting, followed(inZone1)), asked: newBinding(granting), want: newBinding(granting, followed(inZone1))},
		{name: "does not become a former one", old: newBinding(granting, followed("{}")), asked: newBinding(granting, followed(inZone1)), want: newBinding(granting, followed("{}"))},
		{name: "even if it was none", old: newBinding(granting), asked: newBinding(granting, followed(inZone1)), want: newBinding(granting)},
		{name: "even if it is to choose again", old: newBinding(granting, followed("")), asked: newBinding(granting, followed(inZone1)), want: newBinding(granting, followed(""))},
		{name: "nor does a user make it choose again", old: newBinding(granting, followed("{}")), asked: newBinding(granting, followed("")), want: newBinding(granting, followed("{}"))},
		{name: "does not matter before a grant", old: newBinding(held(waiting)), asked: newBinding(held(waiting), followed(inZone1)), want: newBinding(held(waiting), followed(inZone1))},
	} {
		t.Run(c.name, c.run)
	}
}
