// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// Remedy adds advice to an error of the scheduler or of the API server.
func Remedy(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return unanswered(err)
	}
	switch {
	case unknownAPI(status.Status()):
		return fmt.Errorf("the API server does not know %s: apply config/visibility, or set visibility.apiService of the chart, so that it "+
			"forwards requests to this project's scheduler, or name the scheduler's endpoint with --endpoint: %w", v1alpha1.GroupName, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask an administrator for a Role or ClusterRole with %s", err, missingRule(status.Status().Details))
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("no scheduler answers, because none leads, has read everything, or can be reached: look at its pods with kubectl "+
			"-n volcano-system get pods -l 'app in (volcano-scheduler, devicequota-scheduler)', and at their logs: %w", err)
	}
	return err
}

// unanswered adds advice if neither the API server nor a scheduler answers.
func unanswered(err error) error {
	var connecting *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: if --endpoint names a scheduler that has made its own certificate, add --insecure-skip-tls-verify", err)
	case errors.As(err, &connecting) && connecting.Op == "dial":
		return fmt.Errorf("%w: check the server in kubectl's configuration, or the port-forward that --endpoint names", err)
	case os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: the scheduler may hang: its log, and the metric volcano_e2e_scheduling_latency_milliseconds_count, say whether sessions end", err)
	}
	return err
}

// unknownAPI reports whether the path, not the object, does not exist. The answer then does not come from the scheduler.
func unknownAPI(status metav1.Status) bool {
	return status.Code == http.StatusNotFound && status.Details != nil &&
		slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// explained are the resources that commands request by name only for their explanation.
var explained = map[string]bool{"pods": true, "podgroups": true, "jobs": true}

// missingRule returns an RBAC rule that allows the refused request.
func missingRule(details *metav1.StatusDetails) string {
	resource, group := "*", v1alpha1.GroupName
	if details != nil && details.Kind != "" {
		resource, group = details.Kind, details.Group
	}
	if details != nil && details.Name != "" && explained[resource] {
		resource += "/explanation"
	}
	return fmt.Sprintf("apiGroups: [%s], resources: [%s], verbs: [get, list, watch]", group, resource)
}

// ExitPartly is the exit code of a command that could not read all that it looks at.
const ExitPartly = 3

// ExitError ends the program with its own exit code.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }
