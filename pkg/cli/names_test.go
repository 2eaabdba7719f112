// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestNamesThatAreMistypedAreFound(t *testing.T) {
	for _, c := range []struct {
		name               string
		queues, dimensions []string
		note, err          string
	}{
		{"all are right", []string{"ml"}, []string{"nvidia-h100", "nvidia-h100/memory"}, "", ""},
		{"a queue", []string{"ml", "mI"}, nil, "", `queue "mI" does not exist: there are ml, root`},
		{"a class", nil, []string{"nvidia-h10"}, "No queue has or lists nvidia-h10; they have or list nvidia-h100.", ""},
	} {
		o, _, _ := clitest.Options(t, clitest.Answer(t, json.RawMessage(`{"items": [{"name": "root"}, {"name": "ml", "figures": [{"kind": "Device", "name": "nvidia-h100"}]}]}`)))
		scheduler, err := o.Client()
		if err != nil {
			t.Fatal(err)
		}
		note, err := cli.CheckNames(t.Context(), scheduler, c.queues, c.dimensions)
		if note != c.note || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q and %v", c.name, note, err)
		}
	}
}

func TestWhoMayNotSeeQueuesIsToldNothingAboutNames(t *testing.T) {
	o, _, _ := clitest.Options(t, http.NotFoundHandler())
	scheduler, err := o.Client()
	if err != nil {
		t.Fatal(err)
	}
	if note, err := cli.CheckNames(t.Context(), scheduler, []string{"a"}, []string{"b"}); note != "" || err != nil {
		t.Errorf("got %q and %v", note, err)
	}
}
