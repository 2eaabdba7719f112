// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/test/cluster"
)

const (
	// timeout bounds every wait for a condition. It is generous, because only a failing test waits so long.
	timeout = time.Minute
	// repository does not exist. No kubelet pulls from it.
	repository = "registry.example.com/devicequota/vc-scheduler"
	// namespace is the namespace of Volcano.
	namespace = "volcano-system"
)

// root is the folder of the repository.
var root = func() string {
	folder, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return folder
}()

// environment is the environment of a Helm user: a shell with helm and kubectl, and perhaps a cluster.
type environment struct {
	*WithT
	t       *testing.T
	ctx     context.Context
	path    string
	cluster *cluster.Cluster
	kube    kubernetes.Interface
	queues  versioned.Interface
	vc      volcano.Interface
	// registry is the address of a registry for the commands of a page, if they need one.
	registry string
}

// newEnvironment returns an environment without a cluster.
func newEnvironment(t *testing.T) *environment {
	t.Helper()
	e := &environment{WithT: NewWithT(t), t: t, ctx: t.Context()}
	e.SetDefaultEventuallyTimeout(timeout)
	e.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	tools := t.TempDir()
	e.write(filepath.Join(tools, "kubectl"), "#!/bin/sh\nexec "+filepath.Join(root, "bin/controlplane")+" kubectl \"$@\"\n", 0o755)
	for _, tool := range []string{"helm", "kubectl-devicequota"} {
		e.Expect(os.Symlink(filepath.Join(root, "bin", tool), filepath.Join(tools, tool))).To(Succeed())
	}
	e.path = tools + ":" + os.Getenv("PATH")
	return e
}

// newCluster returns an environment with a cluster without Volcano, but with nodes, devices, and their class.
func newCluster(t *testing.T) *environment {
	t.Helper()
	t.Parallel() // most of the time, it waits
	e := newEnvironment(t)
	samples := filepath.Join(root, "config/samples/cluster")
	services := e.newServiceNetwork()
	started, err := cluster.Start(context.Background(), cluster.Options{WithoutVolcano: true, Manifests: []string{
		filepath.Join(samples, "nodes.yaml"), filepath.Join(samples, "deviceclass.yaml"), filepath.Join(samples, "resourceslices.yaml"),
	}, APIServerArgs: services.flags()})
	e.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { e.Expect(started.Stop()).To(Succeed()) })
	e.cluster = started
	e.kube = kubernetes.NewForConfigOrDie(started.Config())
	e.queues = versioned.NewForConfigOrDie(started.Config())
	e.vc = volcano.NewForConfigOrDie(started.Config())
	services.serve(e.kube)
	e.bindPods()
	t.Cleanup(func() {
		if t.Failed() {
			last := *e
			last.ctx = context.Background() // that of the test has ended
			state, err := last.try("kubectl get -A -o wide nodes,queues,jobs.batch.volcano.sh,podgroups,pods,resourceclaims,events; tail -n 40 '" +
				started.State() + "'/logs/vc-controller-manager.log")
			t.Logf("the cluster: %v\n%s", err, state)
		}
	})
	return e
}

// step runs a part of a test in the same environment. Later parts depend on it, so the test ends if it fails.
func (e *environment) step(name string, do func(*environment)) {
	e.t.Helper()
	passed := e.t.Run(name, func(t *testing.T) {
		part := *e
		part.t, part.ctx, part.WithT = t, t.Context(), NewWithT(t)
		part.SetDefaultEventuallyTimeout(timeout)
		part.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
		do(&part)
	})
	if !passed {
		e.t.FailNow()
	}
}

// sh runs commands until one fails, and returns their output.
func (e *environment) sh(commands string) string {
	e.t.Helper()
	out, err := e.try(commands)
	e.Expect(err).NotTo(HaveOccurred(), commands)
	return out
}

// try is sh for commands that may fail. The error has their output on stderr.
func (e *environment) try(commands string) (string, error) {
	command := exec.CommandContext(e.ctx, "bash", "-euo", "pipefail", "-c", commands)
	home := filepath.Dir(strings.Split(e.path, ":")[0])
	command.Env = append(os.Environ(), "PATH="+e.path, "LC_ALL=C.UTF-8", "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if e.cluster != nil {
		command.Env = append(command.Env, "KUBECONFIG="+e.cluster.Kubeconfig())
	}
	command.Dir = root
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, problems.String())
	}
	return out.String(), nil
}

func (e *environment) write(file, content string, mode os.FileMode) {
	e.t.Helper()
	e.Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
	e.Expect(os.WriteFile(file, []byte(content), mode)).To(Succeed())
}

// volcanoChart returns the folder of a version of Volcano's chart.
func (e *environment) volcanoChart(version string) string {
	e.t.Helper()
	dir := strings.TrimSpace(e.sh("go mod download -json volcano.sh/volcano@" + version + ` | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'`))
	return filepath.Join(dir, "installer/helm/chart/volcano")
}

// installVolcano installs Volcano's chart. Its webhooks are off, because they would not respond.
func (e *environment) installVolcano(version string, flags ...string) {
	e.t.Helper()
	e.sh(fmt.Sprintf("helm upgrade --install volcano %s --namespace %s --create-namespace --set custom.admission_enable=false %s",
		e.volcanoChart(version), namespace, strings.Join(flags, " ")))
}

// installOurs installs the chart as the release devicequota, and returns Helm's output.
func (e *environment) installOurs(flags ...string) string {
	e.t.Helper()
	return e.sh(ourInstallation(flags...))
}

func ourInstallation(flags ...string) string {
	return fmt.Sprintf("helm upgrade --install devicequota charts/devicequota --namespace %s --create-namespace --take-ownership --set image.repository=%s %s",
		namespace, repository, strings.Join(flags, " "))
}

// object is any object of the API.
type object = map[string]any

// objects parses YAML documents. The keys are "<kind> <name>".
func (e *environment) objects(text string) map[string]object {
	e.t.Helper()
	all := map[string]object{}
	for _, document := range documents(text) {
		parsed := object{}
		e.Expect(unmarshal(document, &parsed)).To(Succeed(), document)
		if len(parsed) == 0 {
			continue
		}
		key := fmt.Sprint(parsed["kind"], " ", (&unstructured.Unstructured{Object: parsed}).GetName())
		e.Expect(all).NotTo(HaveKey(key))
		all[key] = parsed
	}
	return all
}

// render renders our chart for a release in Volcano's namespace.
func (e *environment) render(release string, flags ...string) map[string]object {
	e.t.Helper()
	return e.objects(e.sh(fmt.Sprintf("helm template %s charts/devicequota --namespace %s --kube-version 1.34.1 --set image.repository=%s %s",
		release, namespace, repository, strings.Join(flags, " "))))
}
