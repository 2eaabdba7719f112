// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// failureLasts is the time after which a failure no longer counts without news of the informer. An informer retries within a
// minute, so an older failure has ended.
const failureLasts = 2 * time.Minute

const (
	// awaitTimeout limits how long Await waits, and awaitPoll is how often it looks.
	awaitTimeout = 30 * time.Second
	awaitPoll    = 10 * time.Millisecond
)

// Informers is the set of informers that the scheduler depends on. It is safe for concurrent use.
type Informers struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	all   []*informer
}

type informer struct {
	resource string
	source   cache.SharedInformer
	// failure is the last error of a list or watch. synced, version and at are the state of the informer and the time at this error.
	failure error
	synced  bool
	version string
	at      time.Time
}

// NewInformers returns an empty set.
func NewInformers(clock clock.PassiveClock) *Informers { return &Informers{clock: clock} }

// Add adds the informer of a resource. The informer must not be started yet.
func (i *Informers) Add(resource schema.GroupResource, source cache.SharedInformer) error {
	added := &informer{resource: resource.String(), source: source}
	err := source.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		cache.DefaultWatchErrorHandler(ctx, r, err)
		i.failed(added, r.LastSyncResourceVersion(), err)
	})
	if err != nil {
		return fmt.Errorf("watch for errors of %s: %w", resource, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, added)
	return nil
}

// failed records an error, unless the error only asks for a new watch.
func (i *Informers) failed(informer *informer, version string, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	informer.failure, informer.synced, informer.version, informer.at = err, informer.source.HasSynced(), version, i.clock.Now()
}

// Err returns an error that lists the unreadable resources with their causes, and the resources not read yet. It is nil if
// everything is read.
func (i *Informers) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var failures, reading []string
	for _, informer := range i.all {
		switch {
		case i.fails(informer):
			failures = append(failures, Explain(informer.resource+" cannot be read", informer.failure))
		case !informer.source.HasSynced():
			reading = append(reading, informer.resource)
		}
	}
	slices.Sort(failures)
	slices.Sort(reading)
	if len(reading) > 0 {
		failures = append(failures, "still being read: "+strings.Join(reading, ", "))
	}
	if len(failures) == 0 {
		return nil
	}
	return errors.New(strings.Join(failures, "; "))
}

// Await waits until read returns true. It gives up when some resource cannot be read, after half a minute, and when ctx ends.
func (i *Informers) Await(ctx context.Context, read func() bool) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, awaitPoll, true, func(context.Context) (bool, error) { return read() || i.someFail(), nil })
}

func (i *Informers) someFail() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(i.all, i.fails)
}

// fails reports whether an informer has read nothing since its last failure.
func (i *Informers) fails(informer *informer) bool {
	return informer.failure != nil && informer.source.HasSynced() == informer.synced &&
		informer.source.LastSyncResourceVersion() == informer.version && i.clock.Since(informer.at) < failureLasts
}
