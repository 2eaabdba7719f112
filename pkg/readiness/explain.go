// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Explain returns a message about a failure and, if a permission is missing, the remedy. The API server's own message names the
// resource and the verb.
func Explain(failed string, failure error) string {
	message := failure.Error()
	if status := apierrors.APIStatus(nil); errors.As(failure, &status) {
		message = status.Status().Message
	}
	if apierrors.IsForbidden(failure) {
		message += ": allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml"
	}
	return failed + ": " + message
}
