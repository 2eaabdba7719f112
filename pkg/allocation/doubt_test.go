// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

var (
	errConnection = errors.New("the connection is lost")
	errTooLong    = &url.Error{Op: "Put", URL: "/", Err: context.DeadlineExceeded}
)

// TestAnAllocationWithoutAnAnswerKeepsItsDevices covers an allocation that the API server has, or does not have, although the scheduler gets an
// error. Without a second look, its devices would go to another claim before the watch reports them.
func TestAnAllocationWithoutAnAnswerKeepsItsDevices(t *testing.T) {
	timeout := apierrors.NewTimeoutError("etcd is slow", 0)
	for name, c := range map[string]struct {
		err         error
		carriedOut  bool
		readsFailed int
		always      bool
	}{
		"carried out, and the connection is lost":        {err: errConnection, carriedOut: true},
		"carried out, and the API server does not wait":  {err: timeout, carriedOut: true},
		"carried out, and reads fail, too":               {err: errConnection, carriedOut: true, readsFailed: 3},
		"carried out, and no write is answered":          {err: errConnection, carriedOut: true, always: true},
		"not carried out":                                {err: errConnection},
		"not carried out, and the request took too long": {err: errTooLong},
		"not carried out, and it is an internal error":   {err: apierrors.NewInternalError(errConnection)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, claim("c"))
			wanted := given(claim("c"), "gpu-0")
			f.pending.Add(wanted, "a")
			done, reads := false, 0
			f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if done && !c.always || action.GetSubresource() != "status" {
					return false, nil, nil
				}
				done = true
				if c.carriedOut {
					if err := f.kube.Tracker().Update(action.GetResource(), action.(clienttesting.UpdateAction).GetObject(), "ns"); err != nil {
						t.Error(err)
					}
				}
				return true, nil, c.err
			})
			f.kube.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !done || reads == c.readsFailed {
					return false, nil, nil
				}
				reads++
				return true, nil, errConnection
			})
			f.reserve(pod("a"), wanted)
			if written := f.claim("c"); consumers(written) != "a" || written.Status.Allocation == nil {
				t.Errorf("used by %q, allocation %v", consumers(written), written.Status.Allocation)
			}
			if f.pending.Of("c-uid") != nil || !f.taken("gpu-0") {
				t.Error("the claim is still pending, or its device is free")
			}
		})
	}
}

// TestADoubtfulAllocationThatAnotherReplaced lets another scheduler write first. The reader must know these devices before the watch reports them.
func TestADoubtfulAllocationThatAnotherReplaced(t *testing.T) {
	f := newFixture(t, claim("c"))
	wanted := given(claim("c"), "gpu-0")
	f.pending.Add(wanted, "a")
	theirs := given(claim("c"), "gpu-1")
	theirs.ResourceVersion = "2"
	f.kube.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, theirs, nil })
	f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == "status", nil, errConnection
	})
	if _, err := f.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{wanted}, "root/q"); err == nil {
		t.Error("it is reserved")
	}
	if f.taken("gpu-0") || !f.taken("gpu-1") {
		t.Errorf("gpu-0 is taken: %t, gpu-1 is taken: %t", f.taken("gpu-0"), f.taken("gpu-1"))
	}
}

func TestResolve(t *testing.T) {
	refused := apierrors.NewForbidden(resourceapi.Resource("resourceclaims"), "c", errConnection)
	internal := apierrors.NewInternalError(errConnection)
	for name, c := range map[string]struct {
		err    error
		again  int // how often the error is repeated
		called int
		fails  bool
	}{
		"a refusal is certain":                                      {err: refused, again: 1, called: 1, fails: true},
		"a claim that etcd never stores is not tried again":         {err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}}, again: 1, called: 1, fails: true},
		"a lost answer is asked for until there is one":             {err: errConnection, again: 100, called: 101},
		"a timeout is no answer":                                    {err: apierrors.NewTimeoutError("", 0), again: 100, called: 101},
		"a request that takes too long has no answer":               {err: errTooLong, again: 100, called: 101},
		"a server that fails once more after each read is believed": {err: internal, again: 100, called: doubtFailures, fails: true},
		"a server that fails for a moment is asked again":           {err: internal, again: 3, called: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := 0
				err := resolve(t.Context(), "it", func(again bool) error {
					if again != (called > 0) {
						t.Errorf("call %d has again %t", called, again)
					}
					if called++; called > c.again {
						return nil
					}
					return uncertain(c.err)
				})
				if called != c.called || (err != nil) != c.fails {
					t.Errorf("called %d times, want %d; the error is %v", called, c.called, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		answers := []error{errConnection, apierrors.NewTooManyRequests("", 0), apierrors.NewTooManyRequests("", 0), nil}
		err := resolve(t.Context(), "it", func(bool) error {
			answer := answers[0]
			answers = answers[1:]
			return uncertain(answer)
		})
		if err != nil || len(answers) > 0 {
			t.Errorf("a server that asks to wait has said nothing about the earlier write: %v, %d calls missing", err, len(answers))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := resolve(ctx, "it", func(bool) error { return uncertain(errConnection) }); !errors.Is(err, errConnection) {
			t.Errorf("a process that ends gets %v", err)
		}
	})
}
