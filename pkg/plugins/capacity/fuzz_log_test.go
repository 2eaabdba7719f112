// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// logged is the logger of all tests. It is set before they start, because goroutines that a test leaves behind still log.
var logged = &fuzzLog{}

// fuzzLog keeps the errors that this module logs. It drops other errors.
type fuzzLog struct {
	mu     sync.Mutex
	errors []string
}

// expected are errors about the input or the API server.
var expected = []string{"Failed to deallocate a claim", "Failed to remove the reservation of a claim", "A queue has a problem", "Failed to count the resources of a pod", "A device is allocated twice",
	"Queues deserve something, but the scheduler's configuration does not provide for that"}

// Init implements logr.LogSink.
func (*fuzzLog) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (*fuzzLog) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (*fuzzLog) Info(int, string, ...any) {}

// WithValues implements logr.LogSink.
func (l *fuzzLog) WithValues(...any) logr.LogSink { return l }

// WithName implements logr.LogSink.
func (l *fuzzLog) WithName(string) logr.LogSink { return l }

// Error implements logr.LogSink.
func (l *fuzzLog) Error(err error, message string, values ...any) {
	if slices.Contains(expected, message) || !loggedHere() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, fmt.Sprintf("%s: %v %v", message, err, values))
}

// take returns the errors since the last call.
func (l *fuzzLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.errors, "\n")
	l.errors = nil
	return text
}

// loggedHere reports whether a package of this module called the logger.
func loggedHere() bool {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "k8s.io/klog/") && !strings.HasPrefix(frame.Function, "github.com/go-logr/") {
			return strings.HasPrefix(frame.Function, "github.com/devicequota/devicequota/")
		}
		if !more {
			return false
		}
	}
}
