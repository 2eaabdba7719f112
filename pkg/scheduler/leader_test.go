// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	componentbaseoptions "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"

	"github.com/devicequota/devicequota/pkg/lease"
)

func electing() *options.ServerOption {
	return &options.ServerOption{SchedulerNames: []string{"volcano"}, LeaderElection: componentbaseoptions.LeaderElectionConfiguration{
		ResourceName: "volcano", ResourceNamespace: "volcano-system", LeaseDuration: metav1.Duration{Duration: time.Minute},
		RenewDeadline: metav1.Duration{Duration: 30 * time.Second}, RetryPeriod: metav1.Duration{Duration: time.Second},
	}}
}

// leads starts an election. It returns a channel that is closed when the process has the lease, and one that is closed when the election returns.
func leads(ctx context.Context, t *testing.T, client kubernetes.Interface) (leading, done chan struct{}) {
	t.Helper()
	leading, done = make(chan struct{}), make(chan struct{})
	lock := lockOf(t, client, electing())
	go func() {
		defer close(done)
		lead(ctx, lock, electing(), func(ctx context.Context) {
			close(leading)
			<-ctx.Done()
		}, func(context.Context) {})
	}()
	return leading, done
}

func lockOf(t *testing.T, client kubernetes.Interface, opts *options.ServerOption) *lease.Lock {
	t.Helper()
	lock, err := newLock(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func TestALeaderThatIsToldToStopReturnsInsteadOfExiting(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	leading, done := leads(ctx, t, fake.NewClientset())
	<-leading
	stop()
	<-done
}

func TestAReplicaThatWaitsForTheLeaseReturnsWhenItIsToldToStop(t *testing.T) {
	client := fake.NewClientset()
	leading, _ := leads(t.Context(), t, client)
	<-leading
	ctx, stop := context.WithCancel(t.Context())
	second, done := leads(ctx, t, client)
	stop()
	select {
	case <-second:
		t.Fatal("two processes lead")
	case <-done:
	}
}

func TestALeaderThatLosesItsLeaseWithdrawsBeforeItExits(t *testing.T) {
	client, opts := fake.NewClientset(), electing()
	opts.LeaderElection.LeaseDuration.Duration, opts.LeaderElection.RenewDeadline.Duration, opts.LeaderElection.RetryPeriod.Duration =
		3200*time.Millisecond, 200*time.Millisecond, 10*time.Millisecond
	var away atomic.Bool
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the API server is away")
	})
	steps := make(chan string, 2)
	exit := klog.OsExit
	klog.OsExit = func(int) { steps <- "exit" }
	t.Cleanup(func() { klog.OsExit = exit })
	ctx, stop := context.WithCancel(t.Context())
	ended, lock := make(chan struct{}), lockOf(t, client, opts)
	go func() {
		defer close(ended)
		lead(ctx, lock, opts, func(context.Context) { away.Store(true) }, func(ending context.Context) {
			if deadline, bounded := ending.Deadline(); !bounded || ending.Err() != nil || time.Until(deadline) > 1500*time.Millisecond {
				t.Errorf("the process may take until %v, want half of what is left of the lease at most", deadline)
			}
			steps <- "withdraw"
		})
	}()
	for _, want := range []string{"withdraw", "exit"} {
		if got := <-steps; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	stop()
	<-ended
}
