// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// Lock is a Lease for which replicas compete. A process has it at most once: it renews a lease that it has, and never takes back a lost
// one. It must then end, as client-go advises, because its data may be older than the other leader's changes.
//
// Client-go's election gives up the lease when it ends. It does so even if the process was paused and another process has the lease, and
// even if the lease could not be renewed and the leader is not notified yet. A Lock gives up only a lease that it renewed lately.
//
// Client-go's election creates a deleted lease at once, while the leader does not know yet that it has lost the lease. A Lock that has
// known the lease waits as long as for a stopped holder. The holder creates the lease again.
type Lock struct {
	resourcelock.Interface
	now func() time.Time

	mu sync.Mutex
	// holder is the holder of the lease at the last read.
	holder string
	// known reports whether this process has seen the Lease. gone is the time since which the Lease does not exist, or zero if it exists.
	known bool
	gone  time.Time
	// had reports whether this process has or had the lease. duration is the duration of the lease at that time.
	had      bool
	duration time.Duration
	// renewed is the time of the last accepted renewal. It is zero if this process never had the lease, lost it, or gave it up.
	renewed time.Time
}

// New returns the lock of a Lease, which need not exist. Events name the component.
func New(client kubernetes.Interface, namespace, name, component string) (*Lock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{
		// Two processes on one host must not both be the leader.
		Identity:      host + "_" + string(uuid.NewUUID()),
		EventRecorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
	})
	if err != nil {
		return nil, err
	}
	return &Lock{Interface: lock, now: time.Now}, nil
}

// RenewedWithin reports whether this process has the lease and sent its last renewal at most d ago. Other processes wait for the whole
// duration of the lease after a renewal.
func (l *Lock) RenewedWithin(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && l.age() <= d
}

// staleAfter returns an error if this process has had the lease and has not renewed it for longer than d.
func (l *Lock) staleAfter(d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.had:
		return nil
	case l.renewed.IsZero():
		return fmt.Errorf("the lease %s was lost or given up, so that another replica may lead", l.Describe())
	case l.age() <= d:
		return nil
	}
	return fmt.Errorf("the lease %s was last renewed %s ago, so that another replica may lead", l.Describe(), l.age().Round(time.Millisecond))
}

// age returns the time since the last renewal. The monotonic clock stops while a machine is suspended, but the wall clock does not.
func (l *Lock) age() time.Duration {
	now := l.now()
	return max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
}

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.holder, l.known, l.gone = record.HolderIdentity, true, time.Time{}
		if l.holder != l.Identity() {
			l.renewed = time.Time{}
		}
	case apierrors.IsNotFound(err):
		l.holder = ""
		if l.gone.IsZero() {
			l.gone = l.now()
		}
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch had := l.lost(""); {
	case had && !l.fresh():
		return errLost
	case !had && l.deleted(durationOf(&record)):
		return errDeleted
	}
	err := l.write(ctx, record, l.Interface.Create)
	if apierrors.IsAlreadyExists(err) { // by a process that has not known the lease
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = time.Time{}
	}
	return err
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	holder := l.holder
	l.mu.Unlock()
	switch {
	case l.lost(holder):
		return errLost
	case record.HolderIdentity == "" && !l.fresh():
		return errOld
	}
	return l.write(ctx, record, l.Interface.Update)
}

func durationOf(record *resourcelock.LeaderElectionRecord) time.Duration {
	return time.Duration(record.LeaseDurationSeconds) * time.Second
}

// errLost reports that this process leaves the lease to others.
var errLost = errors.New("this process has had the lease and lost it, so it leaves it to others")

// lost reports whether this process has had the lease and is not its holder.
func (l *Lock) lost(holder string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.had && holder != l.Identity()
}

// errDeleted reports that there is no lease, and that another process may still lead.
var errDeleted = errors.New("the lease was deleted, and who had it may not know yet, so nobody takes it before its time is over")

// deleted reports whether a known Lease was deleted at most d ago. It uses the monotonic clock, so a change of the wall clock does not
// end the time early.
func (l *Lock) deleted(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known && !l.gone.IsZero() && l.now().Sub(l.gone) <= d
}

// errOld reports that a lease must expire.
var errOld = errors.New("the lease has not been renewed lately, and what was done under it may still be under way, so it is not given up before its time is over")

// fresh reports whether the lease was renewed lately. An election tries to renew it for longer than this.
func (l *Lock) fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && l.age() <= l.duration/3
}

// write writes a record, and stores the time at which it was sent. A record without a holder gives up the lease.
func (l *Lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent := l.now()
	if err := send(ctx, record); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder, l.renewed, l.known, l.gone = record.HolderIdentity, sent, true, time.Time{}
	if l.holder == l.Identity() {
		l.had, l.duration = true, durationOf(&record)
	} else {
		l.renewed = time.Time{}
	}
	return nil
}
