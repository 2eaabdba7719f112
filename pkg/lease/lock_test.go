// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func lockOf(t *testing.T, client kubernetes.Interface, c *clock) *Lock {
	t.Helper()
	lock, err := New(client, "volcano-system", "vc-test", "vc-test")
	if err != nil {
		t.Fatal(err)
	}
	lock.now = c.Now
	return lock
}

// hold gives a lock its lease, as an election does.
func hold(t *testing.T, l *Lock) {
	t.Helper()
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity(), LeaseDurationSeconds: 3600}
	write := l.Create
	if _, _, err := l.Get(t.Context()); err == nil {
		write = l.Update
	}
	if err := write(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
}

func TestALockKnowsWhenItWasRenewed(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	l := lockOf(t, client, c)
	if l.RenewedWithin(time.Hour) || l.staleAfter(0) != nil {
		t.Error("a process that has never had the lease has it, or had it")
	}
	hold(t, l)
	c.advance(5 * time.Second)
	if !l.RenewedWithin(5*time.Second) || l.RenewedWithin(5*time.Second-1) {
		t.Error("the lease is not 5 s old")
	}
	if l.staleAfter(5*time.Second) != nil || l.staleAfter(5*time.Second-1) == nil {
		t.Error("the lease is not stale after 5 s")
	}
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.advance(time.Minute) // the process is paused while it waits for the answer
		return false, nil, nil
	})
	hold(t, l)
	if l.RenewedWithin(time.Minute-1) || !l.RenewedWithin(time.Minute) {
		t.Error("a renewal is as old as its request")
	}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	if l.RenewedWithin(time.Hour) || l.staleAfter(time.Hour) == nil {
		t.Error("a lease that was given up counts")
	}
}

func TestARenewalThatFailsDoesNotCount(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	l := lockOf(t, client, c)
	hold(t, l)
	c.advance(time.Minute)
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the API server is away")
	})
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity()}); err == nil || l.RenewedWithin(time.Second) {
		t.Errorf("err is %v", err)
	}
}

// TestALockLeavesALeaseThatItHasLostToOthers even if it has no holder now, because another process may have had it.
func TestALockLeavesALeaseThatItHasLostToOthers(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	first, second := lockOf(t, client, c), lockOf(t, client, c)
	hold(t, first)
	hold(t, second)
	refuses := func(what string) {
		t.Helper()
		for _, record := range []resourcelock.LeaderElectionRecord{{HolderIdentity: first.Identity()}, {}} {
			if _, _, err := first.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := first.Update(t.Context(), record); !errors.Is(err, errLost) {
				t.Errorf("%s, and the first one writes %+v: %v", what, record, err)
			}
		}
	}
	refuses("another replica has the lease")
	if err := second.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	refuses("the other replica has given it up")
	if err := first.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: first.Identity()}); !errors.Is(err, errLost) {
		t.Errorf("a lease that somebody deleted is taken back: %v", err)
	}
}

// deleteLease deletes the lease, as an administrator does.
func deleteLease(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if err := client.CoordinationV1().Leases("volcano-system").Delete(t.Context(), "vc-test", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// take does what an election does when there is no lease.
func take(t *testing.T, l *Lock) error {
	t.Helper()
	if _, _, err := l.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity(), LeaseDurationSeconds: 15})
}

// TestALeaseThatIsDeletedIsMadeAgainByItsHolder checks that a process that knew the lease waits for its end, because the leader does not know
// about the deletion.
func TestALeaseThatIsDeletedIsMadeAgainByItsHolder(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	first, second := lockOf(t, client, c), lockOf(t, client, c)
	if err := take(t, first); err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	deleteLease(t, client)
	for _, after := range []time.Duration{0, 4 * time.Second} {
		c.advance(after)
		if err := take(t, second); !errors.Is(err, errDeleted) {
			t.Errorf("a lease that was deleted is taken: %v", err)
		}
	}
	if err := take(t, first); err != nil || !first.RenewedWithin(0) {
		t.Errorf("the leader does not make its lease again: %v", err)
	}
	deleteLease(t, client)
	c.advance(6 * time.Second)
	if err := take(t, first); !errors.Is(err, errLost) {
		t.Errorf("a leader that stood still makes its lease again: %v", err)
	}
	if _, _, err := second.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	c.advance(15*time.Second + time.Millisecond)
	if err := take(t, second); err != nil || !second.RenewedWithin(0) {
		t.Errorf("nobody leads any more: %v", err)
	}
}

// TestAHolderWhoseLeaseSomebodyElseMakesAgainHasLostIt at once.
func TestAHolderWhoseLeaseSomebodyElseMakesAgainHasLostIt(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	first, fresh := lockOf(t, client, c), lockOf(t, client, c)
	if err := take(t, first); err != nil {
		t.Fatal(err)
	}
	deleteLease(t, client)
	if _, _, err := first.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := take(t, fresh); err != nil {
		t.Fatal(err)
	}
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: first.Identity(), LeaseDurationSeconds: 15}
	if err := first.Create(t.Context(), mine); !apierrors.IsAlreadyExists(err) || first.RenewedWithin(time.Hour) {
		t.Errorf("two lead: %v", err)
	}
}

func TestALeaseThatSomebodyElseHasIsLostAtOnce(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	first, second := lockOf(t, client, c), lockOf(t, client, c)
	hold(t, first)
	hold(t, second)
	if _, _, err := first.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first.RenewedWithin(time.Hour) || first.staleAfter(time.Hour) == nil {
		t.Error("two have the lease")
	}
}

// TestALeaseThatCannotBeRenewedIsNotGivenUp: client-go's election gives up the lease before the leader is notified of its loss.
func TestALeaseThatCannotBeRenewedIsNotGivenUp(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	l := lockOf(t, client, c)
	hold(t, l)
	c.advance(30 * time.Minute)
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity(), LeaseDurationSeconds: 15}); err != nil {
		t.Fatal(err)
	}
	c.advance(10 * time.Second)
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); !errors.Is(err, errOld) {
		t.Errorf("a lease that has not been renewed for 10 s of 15 s is given up: %v", err)
	}
	c.advance(-5 * time.Second)
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); err != nil {
		t.Errorf("a leader that ends keeps its lease: %v", err)
	}
}

// TestAnElectionThatEndsLateLeavesTheLeaseToItsHolder runs client-go's election, which gives up any lease that it finds at its end.
func TestAnElectionThatEndsLateLeavesTheLeaseToItsHolder(t *testing.T) {
	client, c := fake.NewClientset(), &clock{now: time.Now()}
	first, second := lockOf(t, client, c), lockOf(t, client, c)
	leads, ended := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(t.Context())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: first, LeaseDuration: time.Hour, RenewDeadline: time.Hour - 1, RetryPeriod: time.Minute, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() { close(ended) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	go elector.Run(ctx)
	<-leads
	hold(t, second)
	end()
	<-ended
	record, _, err := second.Get(t.Context())
	if err != nil || record.HolderIdentity != second.Identity() {
		t.Errorf("the holder is %q, want %q; err is %v", record.HolderIdentity, second.Identity(), err)
	}
}
