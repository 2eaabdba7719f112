// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/binary"
	"math/rand/v2"
)

// fuzzInput makes the choices of a fuzzed run. It uses its bytes first, and then a random generator whose seed is among
// the first bytes. The same bytes make the same choices.
type fuzzInput struct {
	bytes  []byte
	random *rand.Rand
}

// newFuzzInput takes the seed from the first two bytes.
func newFuzzInput(data []byte) *fuzzInput {
	head := make([]byte, 8)
	n := copy(head[:2], data)
	return &fuzzInput{bytes: data[n:], random: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(head), 1))}
}

// under returns a number from zero to limit-1.
func (in *fuzzInput) under(limit int) int {
	if len(in.bytes) == 0 {
		return in.random.IntN(limit)
	}
	chosen := int(in.bytes[0]) % limit
	in.bytes = in.bytes[1:]
	return chosen
}

// oneIn is true in one of n cases.
func (in *fuzzInput) oneIn(n int) bool { return in.under(n) == n-1 }

// odd is oneIn for mistakes and rare events. In a calm run, it is rarer.
func (c *fuzzCluster) odd(n int) bool {
	if c.options.Calm {
		return c.oneIn(n) && c.oneIn(4)
	}
	return c.oneIn(n)
}

func choose[T any](in *fuzzInput, among ...T) T { return among[in.under(len(among))] }
