// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	resource := schema.GroupResource{Group: "visibility.devicequota.io", Resource: "holders"}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"the API is not registered", apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", resource, "", "404 page not found", 0, true), "apply config/visibility"},
		{"RBAC does not allow it", apierrors.NewForbidden(resource, "", errors.New("no")), "resources: [holders], verbs: [get, list, watch]"},
		{"RBAC does not allow to explain", apierrors.NewForbidden(schema.GroupResource{Group: "visibility.devicequota.io", Resource: "pods"}, "a", errors.New("no")), "resources: [pods/explanation]"},
		{"no scheduler leads", apierrors.NewServiceUnavailable("no endpoints"), "no scheduler answers"},
		{"an object does not exist", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), `pods "a" not found`},
		{"RBAC does not allow another API", apierrors.NewForbidden(schema.GroupResource{Group: "accounting.devicequota.io", Resource: "usagerecords"}, "", errors.New("no")), "apiGroups: [accounting.devicequota.io], resources: [usagerecords]"},
		{"nobody listens", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, "check the server in kubectl's configuration"},
		{"the certificate is the scheduler's own", &tls.CertificateVerificationError{Err: errors.New("unknown authority")}, "--insecure-skip-tls-verify"},
		{"the scheduler hangs", fmt.Errorf("get: %w", context.DeadlineExceeded), "the scheduler may hang"},
		{"something else", errors.New("unexpected EOF"), "unexpected EOF"},
	} {
		got := Remedy(c.err)
		if !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%s: got %q, want one with %q", c.name, got, c.want)
		}
	}
	if Remedy(nil) != nil {
		t.Error("no error became one")
	}
}
