// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/conflict"
	"github.com/devicequota/devicequota/pkg/readiness"
)

const (
	// doubtDelay is the time before a doubtful write is tried again. It doubles up to doubtMaxDelay.
	doubtDelay    = 50 * time.Millisecond
	doubtMaxDelay = 5 * time.Second
	// doubtFailures is the number of failures of the API server after which it has not carried out a write: a read before each of them would
	// have shown it. Their delays are more than ten seconds in total.
	doubtFailures = 9
)

// doubtful is an error after which nobody knows whether the API server has carried out a write, or will: the connection broke, or the API server
// did not wait for etcd. If the devices of such an allocation looked free, other claims could get them, because the watch reports the
// allocation later.
type doubtful struct {
	error
	// failed says that the API server answered that the write failed. A timeout is no such answer.
	failed bool
}

func (d doubtful) Unwrap() error { return d.error }

// uncertain marks errors of a write that leave its outcome open. Only an answer below 500, or that the object is too large for etcd, says that nothing was
// written. Users decide how large claims are.
func uncertain(err error) error {
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	if err == nil || answered && (status.Status().Code < http.StatusInternalServerError || readiness.TooLarge(err)) {
		return err
	}
	return doubtful{err, answered && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)}
}

// uncertainRead marks errors of a read from the API server after a doubtful write. Without the object, the outcome of the write is still open.
func uncertainRead(err error, again bool) error {
	if err == nil || !again || apierrors.IsNotFound(err) {
		return err
	}
	return doubtful{error: err}
}

// resolve calls write until its outcome is certain. After the first call, again is true, and write reads the object from the API server.
func resolve(ctx context.Context, what string, write func(again bool) error) error {
	again, failures := false, 0
	for delay := doubtDelay; ; delay = min(2*delay, doubtMaxDelay) {
		err := conflict.Retry(func() error { return write(again) })
		var open doubtful
		if !errors.As(err, &open) && (!again || !apierrors.IsTooManyRequests(err)) { // 429 says nothing about an earlier write
			return err
		}
		if again = true; open.failed {
			failures++
		}
		if failures == doubtFailures {
			return err
		}
		klog.V(2).InfoS("The API server may have carried out a write that failed", "write", what, "reason", err.Error())
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return fmt.Errorf("%w, and it is not known whether it was carried out", err)
		}
	}
}
