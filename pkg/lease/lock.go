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

// Lock is a Lease for which replicas compete. A process has it once at most: it renews a lease that it has, and never takes back
// one that it has lost. It must end then, as client-go advises, because what it has read may be from before the other leader.
//
// Client-go's election gives up a lease when it ends, even if the process was stopped and another one has the lease by now, or if
// the lease could not be renewed and the leader has not been told yet. A Lock gives up only what it has and has renewed lately.
//
// Client-go's election takes the place of a lease that somebody deletes at once, while the leader does not know yet that it has lost
// it. A Lock that has known the lease waits for as long as if its holder had stopped. The holder makes the lease again.
type Lock struct {
	resourcelock.Interface
	now func() time.Time

	mu sync.Mutex
	// holder is who had the lease when it was last read.
	holder string
	// known says that this process has seen the Lease, gone since when it has seen that there is none, zero if there was one.
	known bool
	gone  time.Time
	// had says that this process has or had the lease, duration is how long the lease lasted then.
	had      bool
	duration time.Duration
	// renewed is when the last renewal that was accepted was sent, zero if the lease was never had, was lost, or was given up.
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

// RenewedWithin reports whether this process has the lease and sent its last renewal no longer ago than a duration. Others
// wait for the whole duration of the lease after that.
func (l *Lock) RenewedWithin(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && l.age() <= d
}

// staleAfter returns an error if this process has had the lease and has not renewed it for longer than a duration.
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

// age returns how long ago the lease was renewed. The monotonic clock stands still while a machine is suspended, and the wall
// clock does not.
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
	if apierrors.IsAlreadyExists(err) { // somebody who has not known the lease
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

// errLost says that the lease is left to others.
var errLost = errors.New("this process has had the lease and lost it, so it leaves it to others")

// lost reports whether this process has had the lease, and somebody else or nobody has it.
func (l *Lock) lost(holder string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.had && holder != l.Identity()
}

// errDeleted says that there is no lease, and that somebody may still lead.
var errDeleted = errors.New("the lease was deleted, and who had it may not know yet, so nobody takes it before its time is over")

// deleted reports whether there was a Lease that lasted for a duration, and was there less long ago than that. It goes by the
// monotonic clock, so that a clock that is set does not end the time early.
func (l *Lock) deleted(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known && !l.gone.IsZero() && l.now().Sub(l.gone) <= d
}

// errOld says that a lease ends by itself.
var errOld = errors.New("the lease has not been renewed lately, and what was done under it may still be under way, so it is not given up before its time is over")

// fresh reports whether the lease was renewed lately. An election that cannot renew it goes on trying for longer.
func (l *Lock) fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.renewed.IsZero() && l.age() <= l.duration/3
}

// write writes a record, and remembers when it was sent. A record without a holder gives the lease up.
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
