// SPDX-License-Identifier: Apache-2.0

// Package spent remembers which versions of objects the API server no longer has. It refuses each write to them, and while the watch of a scheduler is late, each
// session would try.
package spent

import (
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// lateness is the time after which a write is repeated although the API server has refused it: its reason may have been another one.
const lateness = 10 * time.Second

// Versions has the versions of objects that were written since, or are gone. The zero value is empty and ready to use. It is safe for concurrent use.
type Versions struct {
	mu sync.Mutex
	of map[types.UID]version
}

// version is a resourceVersion, and the time of its last write.
type version struct {
	name string
	at   time.Time
}

// Note notes the result of a write to a version of an object: the version that was written, or the error. A write that changes nothing leaves the version.
func (v *Versions) Note(object types.UID, before, written string, err error) {
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && (err != nil || written == before) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[types.UID]version{}
	}
	v.of[object] = version{before, time.Now()}
}

// Has reports whether a write to a version of an object would be in vain.
func (v *Versions) Has(object types.UID, name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, found := v.of[object]
	return found && last.name == name && time.Since(last.at) < lateness
}

// Forget forgets what was noted long ago.
func (v *Versions) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.of, func(_ types.UID, last version) bool { return time.Since(last.at) >= lateness })
}
