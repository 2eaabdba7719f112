// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// root is the root of the repository.
const root = "../.."

// devcluster is a control plane that runs as make up runs it.
type devcluster struct {
	process, proxy *exec.Cmd
	// kubeconfig is the administrator's. page is the address of the web page through kubectl proxy, and direct its address at the
	// scheduler, which asks who the user is.
	kubeconfig, page, direct string
}

var cluster devcluster

func TestMain(m *testing.M) {
	err := cluster.start()
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := cluster.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// start returns when the control plane is ready.
func (d *devcluster) start() error {
	d.process = exec.Command(filepath.Join(root, "bin/devcluster"), "up", "--manifests", filepath.Join(root, "config/samples/cluster"))
	d.process.Stderr = os.Stderr
	output, err := d.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.process.Start(); err != nil {
		return fmt.Errorf("start a control plane, which make build builds: %w", err)
	}
	path := ""
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		fmt.Println(lines.Text())
		if endpoint, found := strings.CutPrefix(lines.Text(), "scheduler's endpoint: "); found {
			d.direct = endpoint
		}
		if _, after, found := strings.Cut(lines.Text(), "open http://localhost:8001"); found {
			path = after
		}
		if kubeconfig, found := strings.CutPrefix(lines.Text(), "ready: KUBECONFIG="); found {
			d.kubeconfig, d.direct = kubeconfig, d.direct+path
			return d.startProxy(path)
		}
	}
	return fmt.Errorf("the control plane has ended: %w", d.process.Wait())
}

// startProxy starts kubectl proxy on a free port.
func (d *devcluster) startProxy(path string) error {
	d.proxy = exec.Command(filepath.Join(root, "bin/controlplane"), "kubectl", "--kubeconfig", d.kubeconfig, "proxy", "--port=0")
	d.proxy.Stderr = os.Stderr
	output, err := d.proxy.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.proxy.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "Starting to serve on "); found {
			d.page = "http://" + address + path
			return nil
		}
	}
	return fmt.Errorf("kubectl proxy has ended: %w", d.proxy.Wait())
}

func (d *devcluster) stop() error {
	if d.proxy != nil && d.proxy.Process != nil {
		if err := d.proxy.Process.Kill(); err != nil {
			return err
		}
	}
	if d.process == nil || d.process.Process == nil {
		return nil
	}
	if err := d.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return d.process.Wait()
}

// kubectl fails the test if the command does.
func kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(root, "bin/controlplane"), append([]string{"kubectl", "--kubeconfig", cluster.kubeconfig}, arguments...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return string(output)
}

// generation makes the names of jobs differ: Volcano's job controller may make no pods for a job that is created right after another one of
// its name was deleted.
var generation int

// jobs creates the sample jobs, and deletes them when the test ends: the first holds six of eight devices, the second waits for four.
func jobs(t *testing.T) (first, second string) {
	t.Helper()
	generation++
	first, second = fmt.Sprint("first-", generation), fmt.Sprint("second-", generation)
	kubectl(t, "apply", "-f", filepath.Join(root, "config/samples/jobs/claim-template.yaml"))
	create(t, "first", first)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(kubectlAfter(t, "get", "jobs.batch.volcano.sh,podgroups,pods,resourceclaims,events", "-o", "wide"))
		}
	})
	kubectl(t, "wait", "--for=jsonpath={.status.state.phase}=Running", "jobs.batch.volcano.sh/"+first, "--timeout=1m")
	create(t, "second", second)
	t.Cleanup(func() {
		kubectlAfter(t, "delete", "jobs.batch.volcano.sh", "--all", "--wait")
	})
	return first, second
}

// kubectlAfter is kubectl for what is done when a test has ended.
func kubectlAfter(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(root, "bin/controlplane"), append([]string{"kubectl", "--kubeconfig", cluster.kubeconfig}, arguments...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// create creates a sample job under another name. It runs until it is deleted.
func create(t *testing.T, sampleName, name string) {
	t.Helper()
	sample, err := os.ReadFile(filepath.Join(root, "config/samples/jobs", sampleName+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	endless := strings.ReplaceAll(string(sample), "devicequota.io/run-for: 10s", "devicequota.io/run-for: 24h")
	if endless == string(sample) {
		t.Fatalf("the sample job %s does not end by itself any more", sampleName)
	}
	endless = strings.Replace(endless, "  name: "+sampleName+"\n", "  name: "+name+"\n", 1)
	file := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(endless), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", file)
}
