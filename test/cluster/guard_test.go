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

func TestGuardPassesTerminationOn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	const script = `trap 'echo terminated; exit 0' TERM; echo started; while :; do sleep 0.01; done`
	p, err := startProcess("script", log, nil, filepath.Join("..", "..", "bin", controlplaneProgram), "guard", "sh", "-c", script)
	if err != nil {
		t.Fatalf("%v; run `make build`", err)
	}
	defer p.kill()
	started := func(context.Context) (bool, error) { return strings.Contains(tail(log), "started"), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), readyPoll, readyTimeout, true, started); err != nil {
		t.Fatalf("the script did not start: %v, %s", err, tail(log))
	}
	p.terminate()
	out, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(out), "terminated") {
		t.Errorf("the script wrote %q (%v), want terminated", out, err)
	}
}

// A restart needs the ports of the program behind guard. The kernel kills this program after guard.
func TestKillWaitsForTheProgramBehindGuard(t *testing.T) {
	for range 20 {
		address := filepath.Join(t.TempDir(), "lock")
		log := filepath.Join(t.TempDir(), "log")
		p, err := startProcess("holder", log, nil, filepath.Join("..", "..", "bin", controlplaneProgram), "guard", "setsid", "sh", "-c", "exec 9>$0; flock 9; echo holds; exec sleep 3600", address)
		if err != nil {
			t.Fatalf("%v; run `make build`", err)
		}
		holds := func(context.Context) (bool, error) { return strings.Contains(tail(log), "holds"), nil }
		if err := wait.PollUntilContextTimeout(t.Context(), readyPoll, readyTimeout, true, holds); err != nil {
			p.kill()
			t.Fatalf("the program did not start: %v, %s", err, tail(log))
		}
		p.kill()
		file, err := lockFile(address)
		if err != nil {
			t.Fatalf("the program behind guard has not ended: %v", err)
		}
		_ = file.Close()
	}
}
