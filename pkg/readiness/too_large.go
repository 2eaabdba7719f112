// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TooLarge reports whether the API server has refused a write because the object is too large. If it is too large for etcd, the API server answers 500, and only
// the message says so. The error must not be nil.
func TooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}
