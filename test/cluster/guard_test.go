// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"
)

// startGuarded starts a program behind guard, and waits until it writes a text.
func startGuarded(t *testing.T, log, text string, argv ...string) *process {
	t.Helper()
	p, err := startProcess("guarded", log, nil, append([]string{filepath.Join("..", "..", "bin", controlplaneProgram), "guard"}, argv...)...)
	if err != nil {
		t.Fatalf("%v; run `make build`", err)
	}
	started := func(context.Context) (bool, error) { return strings.Contains(tail(log), text), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), readyPoll, readyTimeout, true, started); err != nil {
		p.kill()
		t.Fatalf("the program did not start: %v, %s", err, tail(log))
	}
	return p
}

func TestGuardPassesTerminationOn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	startGuarded(t, log, "started", "sh", "-c", `trap 'echo terminated; exit 0' TERM; echo started; while :; do sleep 0.01; done`).terminate()
	out, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(out), "terminated") {
		t.Errorf("the script wrote %q (%v), want terminated", out, err)
	}
}

// A restart needs the ports of the program behind guard. The kernel kills this program after guard.
func TestKillWaitsForTheProgramBehindGuard(t *testing.T) {
	for range 20 {
		folder := t.TempDir()
		address := filepath.Join(folder, "lock")
		startGuarded(t, filepath.Join(folder, "log"), "holds", "setsid", "sh", "-c", "exec 9>$0; flock 9; echo holds; exec sleep 3600", address).kill()
		file, err := lockFile(address)
		if err != nil {
			t.Fatalf("the program behind guard has not ended: %v", err)
		}
		_ = file.Close()
	}
}
