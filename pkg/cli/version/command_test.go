// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestTheSchedulerThatAnswersIsNamed(t *testing.T) {
	o, stdout, stderr := clitest.Options(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"snapshot":{"time":"2026-03-01T12:00:00.000000Z","session":"4f1e","scheduler":"scheduler-0","version":"v0.1.0"},"items":[]}`)
	}))
	cmd := New(o)
	cmd.SetArgs([]string{"-o", "wide"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := "Scheduler: v0.1.0 (scheduler-0), visibility.devicequota.io/v1alpha1\nSession: 4f1e at 2026-03-01T12:00:00Z\n"
	if !strings.HasPrefix(stdout.String(), "Client: ") || !strings.HasSuffix(stdout.String(), want) || stderr.Len() > 0 {
		t.Errorf("got %s%s, want it to end with %s", stdout, stderr, want)
	}
}

func TestTheVersionIsPrintedAlthoughNoSchedulerAnswers(t *testing.T) {
	o, stdout, stderr := clitest.Options(t, http.NotFoundHandler())
	cmd := New(o)
	cmd.SetArgs([]string{})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "apply config/visibility") {
		t.Errorf("the error is %v", err)
	}
	if !strings.HasPrefix(stdout.String(), "Client: ") {
		t.Errorf("got %q, and on stderr %q", stdout, stderr)
	}
}
