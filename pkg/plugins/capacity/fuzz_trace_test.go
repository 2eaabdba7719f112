// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var traces = flag.String("traces", "", "a file to which TestTraces writes what happens in 2,000 fuzzed clusters")

// TestTraces checks that what happens in a fuzzed cluster depends on its input only. hack/compare-traces.sh compares it with another version.
func TestTraces(t *testing.T) {
	openFuzzGates(t)
	if *traces == "" {
		for seed := range uint16(10) {
			if diff := cmp.Diff(trace(t, seed), trace(t, seed)); diff != "" {
				t.Errorf("the same input, and something else happens (-first +second):\n%s", diff)
			}
		}
		return
	}
	var all strings.Builder
	for seed := range uint16(2000) {
		fmt.Fprintf(&all, "seed %d\n%s\n", seed, trace(t, seed))
	}
	if err := os.WriteFile(*traces, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func trace(t *testing.T, seed uint16) (history string) {
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		c := runFuzzCluster(t, binary.LittleEndian.AppendUint16(nil, seed), seed%2 == 0)
		history = strings.Join(c.history, "\n")
	})
	return history
}
