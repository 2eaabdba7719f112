// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation/internal/apiserver"
)

// TestAStateThatIsReadHasTheSameAnswers reads an API server, which must not be written to.
func TestAStateThatIsReadHasTheSameAnswers(t *testing.T) {
	state := run(t, stateOf(t, job{Name: "borrower", Queue: "b", Pods: 3, Least: 1})).After
	submit(t, state, job{Name: "owner", Queue: "a", Pods: 1})
	server := apiserver.New(state.Kubernetes)
	for i := range state.Items {
		if err := server.Put(&state.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	before := server.Revision()
	read, err := clusterstate.Read(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	if after := server.Revision(); after != before {
		t.Errorf("the server has been written to: revision %d, was %d", after, before)
	}
	if len(read.Unread) != 0 {
		t.Errorf("not read: %q", read.Unread)
	}
	if err := read.UseConfiguration("../../config/scheduler/volcano-scheduler.conf"); err != nil {
		t.Fatal(err)
	}
	out := run(t, read)
	if w := out.of(t, "owner"); w.Verdict != Starts {
		t.Errorf("%+v, want a job that starts", w)
	}
	if w := out.of(t, "borrower"); w.Verdict != Runs || len(w.Evicted) != 1 {
		t.Errorf("%+v, want a job that loses a pod", w)
	}
}

func TestAStateWithoutConfigurationHasNoAnswer(t *testing.T) {
	s := stateOf(t)
	s.Configuration = ""
	if _, err := Run(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "--scheduler-conf") {
		t.Errorf("got the error %v", err)
	}
}
