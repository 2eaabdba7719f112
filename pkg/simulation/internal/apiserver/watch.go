// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher is the response body of a watch.
type watcher struct {
	kind     *kind
	selector selector
	end      func()

	mu      sync.Mutex
	changed *sync.Cond
	pending bytes.Buffer
	closed  bool
	// idle reports whether the reader has read everything and waits for more.
	idle bool
}

// watch starts a watch of the events after a revision.
func (s *Server) watch(ctx context.Context, k *kind, chosen selector, after string) *watcher {
	w := &watcher{kind: k, selector: chosen}
	w.changed = sync.NewCond(&w.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Objects written since the list are sent as modifications. Objects deleted since are missing in the client's next list at the latest. No
	// object is deleted while clients start.
	known, _ := strconv.ParseUint(after, 10, 64)
	for _, object := range k.objects {
		if revision, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64); revision > known {
			w.tell(watch.Modified, object)
		}
	}
	s.watches[w] = struct{}{}
	w.end = sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.watches, w)
		s.mu.Unlock()
	})
	context.AfterFunc(ctx, func() { _ = w.Close() })
	return w
}

// tell sends an event.
func (w *watcher) tell(event watch.EventType, object *unstructured.Unstructured) {
	if !w.selector.selects(object) {
		return
	}
	line, err := json.Marshal(map[string]any{"type": string(event), "object": object.Object})
	if err != nil {
		panic(err) // objects decoded from JSON can be encoded
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending.Write(append(line, '\n'))
	w.idle = false
	w.changed.Broadcast()
}

// Read implements io.Reader.
func (w *watcher) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.pending.Len() == 0 && !w.closed {
		w.idle = true
		w.changed.Wait()
	}
	if w.closed {
		return 0, io.EOF
	}
	w.idle = false
	return w.pending.Read(p)
}

// Close implements io.Closer.
func (w *watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	w.end()
	return nil
}

// Delivered reports whether every watcher has read all events.
func (s *Server) Delivered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.mu.Lock()
		idle := w.idle || w.closed
		w.mu.Unlock()
		if !idle {
			return false
		}
	}
	return true
}
