// SPDX-License-Identifier: Apache-2.0

package conflict

import "k8s.io/client-go/util/retry"

// Retry calls write, which reads an object and changes it, again after a conflict, some five times in all. It returns the error of the last call.
//
// The function of client-go does not: if a request, a dial, or the context of write has timed out or was canceled, it returns the error of the call before,
// which is nil for the first one. What was not written would be taken for written.
func Retry(write func() error) error {
	var last error
	_ = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		last = write()
		return last
	})
	return last
}
