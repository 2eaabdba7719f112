// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

// answer serves holders, and stores the query.
func answer(t *testing.T, holders *v1alpha1.HolderList, asked *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.RequestURI()
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(holders); err != nil {
			t.Error(err)
		}
	}
}

func TestFlagsSelectWhatTheSchedulerIsAskedFor(t *testing.T) {
	const api = "/apis/visibility.devicequota.io/v1alpha1"
	for args, want := range map[string]string{
		"nvidia-h100":             api + "/namespaces/default/holders?dimension=nvidia-h100",
		"nvidia-h100 -A":          api + "/holders?dimension=nvidia-h100",
		"-A --queue llm":          api + "/holders?queue=llm",
		"cpu --queue llm -o json": api + "/namespaces/default/holders?dimension=cpu&queue=llm",
	} {
		var asked string
		o, stdout, _ := clitest.Options(t, answer(t, clitest.Read[v1alpha1.HolderList](t, "holders.yaml"), &asked))
		cmd := New(o)
		cmd.SetArgs(strings.Fields(args))
		if err := cmd.Execute(); err != nil {
			t.Errorf("holders %s: %v", args, err)
		}
		if asked != want {
			t.Errorf("holders %s asks for %s, want %s", args, asked, want)
		}
		if stdout.Len() == 0 {
			t.Errorf("holders %s prints nothing", args)
		}
	}
}

func TestNobodyIsSaidOnStderr(t *testing.T) {
	var asked string
	o, stdout, stderr := clitest.Options(t, answer(t, &v1alpha1.HolderList{}, &asked))
	cmd := New(o)
	cmd.SetArgs([]string{"nvidia-h100"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got, want := stderr.String(), "Nobody holds nvidia-h100 in namespace default; -A shows all namespaces.\n"; stdout.Len() > 0 || got != want {
		t.Errorf("printed %q and %q, want only %q on stderr", stdout, got, want)
	}
}

func TestAWrongOrderIsRefused(t *testing.T) {
	o, _, _ := clitest.Options(t, http.NotFoundHandler())
	cmd := New(o)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs([]string{"--sort", "name"})
	if got, want := fmt.Sprint(cmd.Execute()), "--sort=name: use age or amount"; got != want {
		t.Errorf("got the error %s, want %s", got, want)
	}
}
