// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// devcluster returns the users' command, with its temporary folders below dir.
func devcluster(ctx context.Context, dir string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join("..", "..", "bin", "devcluster"), args...)
	command.Env = append(os.Environ(), "TMPDIR="+dir)
	return command
}

// up starts a control plane and returns once it is ready.
func up(ctx context.Context, t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	command := devcluster(ctx, dir, append([]string{"up"}, args...)...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatalf("%v; run `make build`", err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(out)
	var printed []string
	for lines.Scan() {
		printed = append(printed, lines.Text())
		if kubeconfig, ready := strings.CutPrefix(lines.Text(), "ready: KUBECONFIG="); ready {
			if _, err := os.Stat(kubeconfig); err != nil {
				t.Error(err)
			}
			components := 6
			if slices.Contains(args, "kube") {
				components-- // it needs none of Volcano's controllers
			}
			if len(printed) != components+1 {
				t.Errorf("want a line for each of %d components and one at the end, got:\n%s", components, strings.Join(printed, "\n"))
			}
			return command
		}
	}
	t.Fatalf("devcluster ended before it was ready:\n%s", strings.Join(printed, "\n"))
	return nil
}

func TestNoProcessOutlivesDevcluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, c := range []struct {
		name, scheduler string
		end             func(t *testing.T, dir string, command *exec.Cmd)
	}{
		{"after it is killed", "volcano", func(t *testing.T, _ string, command *exec.Cmd) {
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}},
		{"after devcluster down", "kube", func(t *testing.T, dir string, _ *exec.Cmd) {
			if out, err := devcluster(ctx, dir, "down").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			command := up(ctx, t, dir, "--scheduler", c.scheduler)
			if processes := processesWith(t, dir); len(processes) < 5 {
				t.Fatalf("only %d processes run", len(processes))
			}
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				_ = command.Wait()
			}()
			c.end(t, dir, command)
			<-waited
			eventually(ctx, t, func() error {
				if pids := processesWith(t, dir); len(pids) > 0 {
					return fmt.Errorf("processes %v are left", pids)
				}
				left, err := filepath.Glob(filepath.Join(dir, "cluster-*"))
				if err == nil && len(left) > 0 {
					err = fmt.Errorf("folder %s is left", left)
				}
				return err
			})
		})
	}
}

func TestErrorsOfDevcluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file.yaml")
	if err := os.WriteFile(file, []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a manifest that does not parse", []string{"up", "--manifests", file}, "manifests: " + file + ", document 1: "},
		{"a manifest that does not exist", []string{"up", "--manifests", "nowhere"}, "nowhere"},
		{"a state folder that cannot be created", []string{"up", "--state", filepath.Join(file, "state")}, "state folder: "},
		{"a kubeconfig that cannot be written", []string{"up", "--kubeconfig", filepath.Join(file, "config")}, "kubeconfig: "},
		{"a scheduler configuration that does not exist", []string{"up", "--scheduler-config", "nowhere"}, "scheduler configuration: "},
		{"binaries that do not exist", []string{"up", "--bin", dir}, "the control plane's binaries are missing: "},
		{"an unknown scheduler", []string{"up", "--scheduler", "nonsense"}, "--scheduler nonsense: want ours, volcano, or kube"},
		{"an unknown flag", []string{"up", "--nonsense"}, "unknown flag: --nonsense"},
		{"no devcluster to stop", []string{"down"}, "no devcluster is running"},
		{"no devcluster with that state folder", []string{"down", "--state", dir}, "no devcluster is running with state folder " + dir},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := devcluster(ctx, dir, c.args...)
			var stderr strings.Builder
			command.Stderr = &stderr
			err := command.Run()
			if command.ProcessState == nil || command.ProcessState.ExitCode() != 1 {
				t.Fatalf("ended with %v, want exit status 1; run `make build` if it is missing", err)
			}
			message := strings.TrimSpace(stderr.String())
			if !strings.HasPrefix(message, "devcluster: ") || !strings.Contains(message, c.want) || strings.Contains(message, "\n") {
				t.Errorf("the message is %q, want one line with %q", message, c.want)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cluster-*")); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

func TestAStateFolderIsLockedAndKept(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	manifest := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(manifest, []byte(node), 0o600); err != nil {
		t.Fatal(err)
	}
	up(ctx, t, dir, "--scheduler", "volcano", "--state", state, "--manifests", manifest)
	out, err := devcluster(ctx, dir, "up", "--state", state).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "state folder "+state+" is in use by another cluster") {
		t.Errorf("a second cluster: %v, %s", err, out)
	}
	if out, err := devcluster(ctx, dir, "down", "--state", state).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(state, "etcd")); err != nil {
		t.Errorf("the state is not kept: %v", err)
	}
}
