// SPDX-License-Identifier: Apache-2.0

package victims

import "fmt"

func ExampleChoose() {
	units := []Unit{
		{Name: "trainer", Gang: "trainer", Pods: 8, Priority: 10},
		{Name: "notebook 1", Pods: 1, Priority: 100},
		{Name: "notebook 2", Pods: 1, Priority: 100},
	}
	gpus := []int{8, 1, 1}
	for _, need := range []int{1, 3} {
		victims, _ := Choose(units,
			func([]int) bool { return true },
			func(set []int) bool {
				free := 0
				for _, i := range set {
					free += gpus[i]
				}
				return free >= need
			}, 100)
		fmt.Println(victims)
	}
	// Output:
	// [1]
	// [0]
}
