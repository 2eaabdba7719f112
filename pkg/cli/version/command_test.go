// SPDX-License-Identifier: Apache-2.0

package version

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestTheSchedulerThatAnswersIsNamed(t *testing.T) {
	stdout, stderr, err := clitest.Run(t, clitest.Answer(t, v1alpha1.QueueList{Snapshot: v1alpha1.Snapshot{
		Time: metav1.NewMicroTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), Session: "4f1e", Scheduler: "scheduler-0", Version: "v0.1.0",
	}}), New, "-o", "wide")
	want := "Scheduler: v0.1.0 (scheduler-0), visibility.devicequota.io/v1alpha1\nSession: 4f1e at 2026-03-01T12:00:00Z\n"
	if !strings.HasPrefix(stdout, "Client: ") || !strings.HasSuffix(stdout, want) || stderr != "" || err != nil {
		t.Errorf("got %s%s, %v, want it to end with %s", stdout, stderr, err, want)
	}
}

func TestTheVersionIsPrintedAlthoughNoSchedulerAnswers(t *testing.T) {
	stdout, stderr, err := clitest.Run(t, http.NotFoundHandler(), New)
	if err == nil || !strings.Contains(err.Error(), "apply config/visibility") {
		t.Errorf("the error is %v", err)
	}
	if !strings.HasPrefix(stdout, "Client: ") {
		t.Errorf("got %q, and on stderr %q", stdout, stderr)
	}
}
