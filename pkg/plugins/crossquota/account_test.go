// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// The sums of an account are those of its pods after any sequence of operations.
func TestAnAccountIsTheSumOfItsPods(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		a := newAccount(&nodeFacts{quotas: []amount{20_000, 1 << 40, maxAmount}}, 0)
		model := map[api.TaskID]charge{}
		for range 200 {
			id := api.TaskID(fmt.Sprint("pod-", random.IntN(12)))
			pod, charged := model[id]
			switch random.IntN(3) {
			case 0:
				requests := []amount{amount(random.Int64N(4000)), amount(random.Int64N(1 << 38)), maxAmount}
				a.charge(id, requests, holder{})
				if !charged {
					pod = charge{requests: requests}
				}
				pod.releasing = false
				model[id] = pod
			case 1:
				a.markReleasing(id)
				if charged {
					pod.releasing = true
					model[id] = pod
				}
			case 2:
				a.release(id)
				delete(model, id)
			}
			used, releasing := make([]amount, 3), make([]amount, 3)
			for _, h := range model {
				add(used, h.requests)
				if h.releasing {
					add(releasing, h.requests)
				}
			}
			if !slices.Equal(a.used, used) || !slices.Equal(a.releasing, releasing) || len(a.charges) != len(model) {
				t.Fatalf("the account has %v used and %v releasing, its pods have %v and %v", a.used, a.releasing, used, releasing)
			}
			ask := []amount{amount(random.Int64N(30_000)), 0, 0}
			if a.fits(ask) != (ask[0] == 0 || used[0]+ask[0] <= 20_000) {
				t.Fatalf("%d of 20000 are used, and %d fit: %t", used[0], ask[0], a.fits(ask))
			}
			if a.fitsAfter(nil, ask) != (ask[0] == 0 || used[0]-releasing[0]+ask[0] <= 20_000) {
				t.Fatalf("%d of 20000 are used, %d are releasing, and %d fit after that: %t", used[0], releasing[0], ask[0], a.fitsAfter(nil, ask))
			}
		}
	}
}

func TestManyLargePodsDoNotOverflow(t *testing.T) {
	a := newAccount(&nodeFacts{quotas: []amount{maxAmount}}, 0)
	for i := range 2000 {
		a.charge(api.TaskID(fmt.Sprint(i)), []amount{maxAmount}, holder{})
		a.markReleasing(api.TaskID(fmt.Sprint(i)))
	}
	if a.fits([]amount{1}) || a.used[0] != 2000*maxAmount {
		t.Errorf("%d is used, and there is room for more", a.used[0])
	}
}

// An account that is updated during a session equals the account that a new session creates.
func TestASessionKeepsItsAccountsUpToDate(t *testing.T) {
	f := newFixture(gpuArgs(argQuotaResources, "cpu,memory")).node("gpu", eightCores).node("plain", "cpu=8 memory=32Gi")
	f.job("runs", 0, newPod("runs-0", "gpu", "cpu=1 memory=1Gi"), newPod("runs-1", "gpu", "cpu=1500m"), newPod("runs-2", "plain", "cpu=1"))
	f.job("waits", 0, newPod("waits-0", "", "cpu=2 memory=3Gi"), newPod("waits-1", "", "cpu=1 nvidia.com/gpu=1")).open(t)
	used := func(step, want string) {
		t.Helper()
		a := f.opened.accounts["gpu"]
		if got := fmt.Sprintf("%d %d, releasing %d %d", a.used[0], a.used[1]>>30, a.releasing[0], a.releasing[1]>>30); got != want {
			t.Errorf("after %s %s are used, want %s", step, got, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gpu, statement := f.session.Nodes["gpu"], f.session.Statement()
	used("the start", "2500 1, releasing 0 0")
	must(statement.Allocate(f.task("waits-0"), gpu))
	used("allocate", "4500 4, releasing 0 0")
	must(statement.Allocate(f.task("waits-1"), gpu))
	used("a GPU pod", "4500 4, releasing 0 0")
	must(statement.Evict(f.task("runs-0"), "test"))
	must(statement.Evict(f.task("runs-2"), "test"))
	used("evict", "4500 4, releasing 1000 1")
	statement.Discard()
	used("discard", "2500 1, releasing 0 0")
	must(f.session.Statement().Pipeline(f.task("waits-0"), "gpu", false))
	used("pipeline", "4500 4, releasing 0 0")
	must(f.session.Statement().UnPipeline(f.task("waits-0")))
	used("unpipeline", "2500 1, releasing 0 0")
	must(f.session.Allocate(f.task("waits-0"), gpu))
	must(f.session.Evict(f.task("runs-1"), "test"))
	used("allocate and evict", "4500 4, releasing 1500 0")
	if fresh := f.opened.openAccount(gpu, f.opened.accounts["gpu"].facts); !slices.Equal(fresh.used, f.opened.accounts["gpu"].used) || !slices.Equal(fresh.releasing, f.opened.accounts["gpu"].releasing) {
		t.Errorf("a new account has %v used and %v releasing", fresh.used, fresh.releasing)
	}
}
