// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestFlagsSelectWhatTheSchedulerIsAskedFor(t *testing.T) {
	const api = "/apis/visibility.devicequota.io/v1alpha1"
	answer := clitest.Answer(t, clitest.Read[v1alpha1.HolderList](t, "holders.yaml"))
	for args, want := range map[string]string{
		"nvidia-h100":             api + "/namespaces/default/holders?dimension=nvidia-h100",
		"nvidia-h100 -A":          api + "/holders?dimension=nvidia-h100",
		"-A --queue llm":          api + "/holders?queue=llm",
		"cpu --queue llm -o json": api + "/namespaces/default/holders?dimension=cpu&queue=llm",
	} {
		var asked string
		stdout, _, err := clitest.Run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.RequestURI()
			answer(w, r)
		}), New, strings.Fields(args)...)
		if asked != want || stdout == "" || err != nil {
			t.Errorf("holders %s asks for %s, want %s, and prints %q, %v", args, asked, want, stdout, err)
		}
	}
}

func TestNobodyIsSaidOnStderr(t *testing.T) {
	stdout, got, err := clitest.Run(t, clitest.Answer(t, &v1alpha1.HolderList{}), New, "nvidia-h100")
	if want := "Nobody holds nvidia-h100 in namespace default; -A shows all namespaces.\n"; stdout != "" || got != want || err != nil {
		t.Errorf("printed %q and %q, %v, want only %q on stderr", stdout, got, err, want)
	}
}

func TestAWrongOrderIsRefused(t *testing.T) {
	_, _, err := clitest.Run(t, http.NotFoundHandler(), New, "--sort", "name")
	if got, want := fmt.Sprint(err), "--sort=name: use age or amount"; got != want {
		t.Errorf("got the error %s, want %s", got, want)
	}
}
