// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRetry(t *testing.T) {
	changed := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed"))
	dialer := net.Dialer{Deadline: time.Now().Add(-time.Second)}
	_, late := dialer.Dial("tcp", "127.0.0.1:1")
	if late == nil {
		t.Fatal("a dial after its deadline succeeded")
	}
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		errs  []error // of the calls; further ones return the last
		calls int
	}{
		"success":                        {errs: []error{nil}, calls: 1},
		"success after a conflict":       {errs: []error{changed, nil}, calls: 2},
		"conflicts without end":          {errs: []error{changed}, calls: 5},
		"another error":                  {errs: []error{refused}, calls: 1},
		"the time of a request is over":  {errs: []error{&url.Error{Op: "Patch", Err: context.DeadlineExceeded}}, calls: 1},
		"the time of a dial is over":     {errs: []error{late}, calls: 1},
		"canceled, after a conflict":     {errs: []error{changed, context.Canceled}, calls: 2},
		"too late, after some conflicts": {errs: []error{changed, changed, late}, calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			var given error
			err := Retry(func() error {
				given = tc.errs[min(calls, len(tc.errs)-1)]
				calls++
				return given
			})
			if calls != tc.calls || err != given {
				t.Errorf("%d calls and error %v, want %d and %v", calls, err, tc.calls, given)
			}
		})
	}
}
