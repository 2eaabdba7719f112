// SPDX-License-Identifier: Apache-2.0

package spent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestVersions(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		written string
		err     error
		want    bool
	}{
		"written":        {"2", nil, true},
		"nothing to do":  {"1", nil, false},
		"changed before": {"", apierrors.NewConflict(pods, "a", errors.New("it has been modified")), true},
		"gone":           {"", apierrors.NewNotFound(pods, "a"), true},
		"no answer":      {"", apierrors.NewTimeoutError("the server is busy", 1), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var v Versions
			v.Note("a", "1", c.written, c.err)
			if got := v.Has("a", "1"); got != c.want {
				t.Errorf("%s: version 1 is spent: %t, want %t", name, got, c.want)
			}
			if v.Has("a", "3") || v.Has("b", "1") {
				t.Errorf("%s: another version, or another object, is spent", name)
			}
			time.Sleep(lateness)
			if v.Has("a", "1") {
				t.Errorf("%s: the version stays spent, although the refusal may have had another reason", name)
			}
			if v.Forget(); len(v.of) > 0 {
				t.Errorf("%s: %v is remembered", name, v.of)
			}
		})
	}
}
