package crossquota

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// The sums of an account are those of its pods, whatever happens to them in which order.
func TestAnAccountIsTheSumOfItsPods(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		a := newAccount(&nodeFacts{quotas: []amount{20_000, 1 << 40, maxAmount}}, 0)
		model := map[api.TaskID]holding{}
		for range 200 {
			id := api.TaskID(fmt.Sprint("pod-", random.IntN(12)))
			known, held := model[id]
			switch random.IntN(3) {
			case 0:
				requests := []amount{amount(random.Int64N(4000)), amount(random.Int64N(1 << 38)), maxAmount}
				a.hold(id, requests, holder{})
				if !held {
					known = holding{requests: requests}
				}
				known.leaving = false
				model[id] = known
			case 1:
				a.leave(id)
				if held {
					known.leaving = true
					model[id] = known
				}
			case 2:
				a.release(id)
				delete(model, id)
			}
			used, leaving := make([]amount, 3), make([]amount, 3)
			for _, h := range model {
				add(used, h.requests)
				if h.leaving {
					add(leaving, h.requests)
				}
			}
			if !slices.Equal(a.used, used) || !slices.Equal(a.leaving, leaving) || len(a.holders) != len(model) {
				t.Fatalf("the account has %v, %v, its pods %v, %v", a.used, a.leaving, used, leaving)
			}
			ask := []amount{amount(random.Int64N(30_000)), 0, 0}
			if a.fits(ask) != (ask[0] == 0 || used[0]+ask[0] <= 20_000) {
				t.Fatalf("%d of 20000 are used, and %d fit: %t", used[0], ask[0], a.fits(ask))
			}
			if a.fitsWithout(nil, ask) != (ask[0] == 0 || used[0]-leaving[0]+ask[0] <= 20_000) {
				t.Fatalf("%d of 20000 are used and %d leave, and %d fit then: %t", used[0], leaving[0], ask[0], a.fitsWithout(nil, ask))
			}
		}
	}
}

func TestManyLargePodsDoNotOverflow(t *testing.T) {
	a := newAccount(&nodeFacts{quotas: []amount{maxAmount}}, 0)
	for i := range 2000 {
		a.hold(api.TaskID(fmt.Sprint(i)), []amount{maxAmount}, holder{})
		a.leave(api.TaskID(fmt.Sprint(i)))
	}
	if a.fits([]amount{1}) || a.used[0] != 2000*maxAmount {
		t.Errorf("%d is used, and there is room for more", a.used[0])
	}
}

// What a session counts while pods come and go is what a new session would count.
func TestASessionCountsWhatHappensInIt(t *testing.T) {
	s := newScene(gpuArgs(argQuotaResources, "cpu,memory")).node("gpu", eightCores).node("plain", "cpu=8 memory=32Gi")
	s.job("runs", 0, newPod("runs-0", "gpu", "cpu=1 memory=1Gi"), newPod("runs-1", "gpu", "cpu=1500m"), newPod("runs-2", "plain", "cpu=1"))
	s.job("waits", 0, newPod("waits-0", "", "cpu=2 memory=3Gi"), newPod("waits-1", "", "cpu=1 nvidia.com/gpu=1")).open(t)
	used := func(step, want string) {
		t.Helper()
		a := s.opened.accounts["gpu"]
		if got := fmt.Sprintf("%d %d, leaving %d %d", a.used[0], a.used[1]>>30, a.leaving[0], a.leaving[1]>>30); got != want {
			t.Errorf("after %s %s are used, want %s", step, got, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gpu, statement := s.session.Nodes["gpu"], s.session.Statement()
	used("the beginning", "2500 1, leaving 0 0")
	must(statement.Allocate(s.task("waits-0"), gpu))
	used("allocate", "4500 4, leaving 0 0")
	must(statement.Allocate(s.task("waits-1"), gpu))
	used("a GPU pod", "4500 4, leaving 0 0")
	must(statement.Evict(s.task("runs-0"), "test"))
	must(statement.Evict(s.task("runs-2"), "test"))
	used("evict", "4500 4, leaving 1000 1")
	statement.Discard()
	used("discard", "2500 1, leaving 0 0")
	must(s.session.Statement().Pipeline(s.task("waits-0"), "gpu", false))
	used("pipeline", "4500 4, leaving 0 0")
	must(s.session.Statement().UnPipeline(s.task("waits-0")))
	used("its end", "2500 1, leaving 0 0")
	must(s.session.Allocate(s.task("waits-0"), gpu))
	must(s.session.Evict(s.task("runs-1"), "test"))
	used("both for good", "4500 4, leaving 1500 0")
	if fresh := s.opened.openAccount(gpu, s.opened.accounts["gpu"].facts); !slices.Equal(fresh.used, s.opened.accounts["gpu"].used) || !slices.Equal(fresh.leaving, s.opened.accounts["gpu"].leaving) {
		t.Errorf("counted anew, %v are used and %v leave", fresh.used, fresh.leaving)
	}
}
