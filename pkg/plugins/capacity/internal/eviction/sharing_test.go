// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestPodsOfAChainShareClaims in any order. The second half is another chain.
func TestPodsOfAChainShareClaims(t *testing.T) {
	const pods = 100
	for seed := range uint64(100) {
		shared, place := sharing{claims: map[types.UID]int{}}, make([]int, pods)
		for i, pod := range rand.New(rand.NewPCG(seed, 1)).Perm(pods) {
			place[pod] = i
			for claim := range 2 {
				shared.add(i, types.UID(fmt.Sprint(pod/(pods/2), pod+claim)))
			}
		}
		for pod := range pods {
			if same, want := shared.first(place[pod]) == shared.first(place[0]), pod < pods/2; same != want {
				t.Fatalf("seed %d: pod %d shares claims with the first: %t, want %t", seed, pod, same, want)
			}
		}
	}
}
