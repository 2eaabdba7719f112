// SPDX-License-Identifier: Apache-2.0

// Package clitest helps to test commands. It has a scheduler that gives fixed answers, and compares golden files.
package clitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/cli"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Golden compares text with testdata/NAME.golden. With the flag -update, it writes the file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if the change is meant, run the test with -update (-want +got):\n%s", file, diff)
	}
}

// Read reads an answer of the scheduler from a YAML file in testdata.
func Read[T any](t *testing.T, file string) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var answer T
	if err := yaml.UnmarshalStrict(text, &answer); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return &answer
}

// Options returns the options of a user in the namespace default, and the output of commands. The handler serves as the API server.
func Options(t *testing.T, server http.Handler) (o *cli.Options, stdout, stderr *bytes.Buffer) {
	t.Helper()
	started := httptest.NewServer(server)
	t.Cleanup(started.Close)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	o = cli.NewOptions(streams)
	o.Config.APIServer = &started.URL
	return o, stdout, stderr
}

// Run runs a command of that user, and returns what it prints.
func Run(t *testing.T, server http.Handler, command func(*cli.Options) *cobra.Command, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	o, out, told := Options(t, server)
	cmd := command(o)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // without arguments, not those of the test
	err = cmd.Execute()
	return out.String(), told.String(), err
}

// Answer answers each request with an object.
func Answer(t *testing.T, object any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}
}
