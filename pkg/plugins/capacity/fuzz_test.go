// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// FuzzSessions lets one cluster live through several sessions of the scheduler, with all kinds of objects, and checks that
//
//   - nothing panics, and the plugin logs no error;
//   - the placements of a session take no queue above its limit;
//   - what runs is charged exactly once when the next session begins;
//   - no pod can be evicted for a job that is remembered as having no victims;
//   - no device is given out twice, and a bound pod has all its devices;
//   - without changes, pods are evicted only once for the same pod.
//
// See CONTRIBUTING.md for how to run it.
func FuzzSessions(f *testing.F) {
	fuzzSessions(f, false, []string{"", "a", "b", "c", "ab", "cd", "xyz", "12345678"})
}

// FuzzExtendedResources is FuzzSessions in clusters where DeviceClasses offer an extended resource (KEP-5004). DRA serves it on some nodes,
// and device plugins on others.
func FuzzExtendedResources(f *testing.F) {
	var seeds []string
	for seed := range byte(20) {
		seeds = append(seeds, string([]byte{seed}))
	}
	fuzzSessions(f, true, seeds)
}

func fuzzSessions(f *testing.F, extended bool, seeds []string) {
	f.Cleanup(framework.CleanupPluginBuilders)
	openFuzzGates(f)
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		runFuzzCluster(t, data, extended)
	})
}

// openFuzzGates opens the feature gates of the devices that fuzzed clusters have.
func openFuzzGates(t testing.TB) {
	for _, gate := range []featuregate.Feature{features.DRAConsumableCapacity, features.DRAPartitionableDevices, features.DRAAdminAccess} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, gate, true)
	}
}

// runFuzzCluster lets one cluster live through several sessions.
func runFuzzCluster(t *testing.T, data []byte, extended bool) *fuzzCluster {
	logged.take()
	c := newFuzzCluster(t, newFuzzInput(data), extended)
	defer c.shutdown()
	c.populate()
	sessions := 2 + c.under(6)
	if extended {
		sessions *= 2
	}
	for range sessions {
		c.session()
		changes := c.under(8)
		for range changes {
			c.change()
		}
		if changes > 0 {
			c.evictedFor = nil
		}
		c.control()
	}
	if extended {
		c.checkRestart()
	}
	return c
}

// session runs a session and binds the pods that it has decided on. It binds some only after the next session.
func (c *fuzzCluster) session() {
	c.note("session")
	began := time.Now()
	ssn := c.open()
	c.readQuotas()
	c.noteRunning()
	c.checkLedger()
	c.checkPayers()
	c.checkHolders("when the session opens")
	before := c.holdings(decisionOf(c.late))
	c.act(ssn)
	c.checkHolders("when the session closes")
	c.checkInadmissible()
	if c.oneIn(4) {
		c.explain(ssn)
	}
	framework.CloseSession(ssn)
	c.checkTime(time.Since(began))
	c.scheduler.settle()
	c.checkEvictions()
	placed := c.scheduler.decided()
	c.noteDecided(placed)
	c.checkLimits(before, placed)
	if errors := logged.take(); errors != "" {
		c.fail("the plugin has logged errors: %s", errors)
	}
	c.bindAll(placed)
}

// bindAll binds pods. Some of the pods decided now are bound after the next session.
func (c *fuzzCluster) bindAll(placed []*schedulercache.BindContext) {
	late := c.late
	c.late = nil
	for i, decided := range append(late, placed...) {
		isLate := i < len(late)
		if !isLate && (c.oneIn(8) || c.extended && c.oneIn(4)) {
			c.note("  pod %s is bound later", decided.TaskInfo.Name)
			c.late = append(c.late, decided)
			continue
		}
		before := c.allocated()
		if c.scheduler.bind(decided, c.oneIn(10)) {
			c.checkBound(decided.TaskInfo.Name, before, !isLate)
		} else if pod, exists := c.pods.get(decided.TaskInfo.Name); exists && pod.Spec.NodeName == "" {
			delete(c.charged, pod.UID)
		}
	}
}

// slowest is the maximum duration of a session of a few pods in a run that measures time. It is far beyond one second for a thousand pods.
const slowest = 5 * time.Second

func (c *fuzzCluster) checkTime(took time.Duration) {
	if took < slowest {
		return
	}
	if os.Getenv("FUZZ_SESSIONS_TIMED") != "" {
		c.fail("a session of %d pods took %v", len(c.pods), took)
	}
	c.Logf("a session of %d pods took %v", len(c.pods), took)
}

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

var share = flag.Bool("share", true, "whether pods that are alike share rankings in fuzzed clusters")

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
	must(t, os.WriteFile(*traces, []byte(all.String()), 0o600))
}

func trace(t *testing.T, seed uint16) (history string) {
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		c := runFuzzCluster(t, binary.LittleEndian.AppendUint16(nil, seed), seed%2 == 0)
		history = strings.Join(c.history, "\n")
	})
	return history
}
