// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/devicequota/devicequota/test/cluster"
)

const node = `
apiVersion: v1
kind: Node
metadata: {name: plain}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
  capacity: {cpu: "4", memory: 8Gi, pods: "10"}
`

// pod returns a pod with a node, so it needs no scheduler. The annotations are in the form of YAML.
func pod(name, annotations string, gracePeriod int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {%s}}
spec:
  nodeName: plain
  restartPolicy: Never
  terminationGracePeriodSeconds: %d
  containers: [{name: main, image: "registry.example.com/main:v1"}]
`, name, annotations, gracePeriod)
}

// TestCluster follows the life of one control plane.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	c, err := cluster.Start(ctx, cluster.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.State()); !os.IsNotExist(err) {
			t.Errorf("the temporary state folder still exists: %v", err)
		}
	})
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Error(err)
	}
	client := kubernetes.NewForConfigOrDie(c.Config())
	for _, step := range []struct {
		name string
		run  func(context.Context, *testing.T, *cluster.Cluster, kubernetes.Interface)
	}{
		{"a node is ready and has the status in its manifest", nodeIsReady},
		{"pods run for the time in their annotation", podsRun},
		{"pods that ignore SIGTERM use their grace period", podsTerminate},
		{"manifests may come before their CRD", crdsAreServed},
		{"a component that is killed can be restarted and is not reported", componentsRestart},
		{"an error names the manifest that the API server rejects", manifestIsRejected},
		{"a component that ends unexpectedly is reported with the end of its log", failureIsReported},
	} {
		t.Run(step.name, func(t *testing.T) { step.run(ctx, t, c, client) })
	}
}

func nodeIsReady(ctx context.Context, t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	apply(ctx, t, c, node)
	eventually(ctx, t, func() error {
		n, err := client.CoreV1().Nodes().Get(ctx, "plain", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && n.Status.Allocatable.Cpu().Value() == 4 {
				return nil
			}
		}
		return fmt.Errorf("node: %v", n.Status)
	})
}

func podsRun(ctx context.Context, t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	apply(ctx, t, c, pod("short", "devicequota.io/run-for: 200ms", 0)+"---"+pod("endless", "devicequota.io/run-for: a while", 0))
	eventually(ctx, t, phase(ctx, client, "short", corev1.PodSucceeded))
	eventually(ctx, t, phase(ctx, client, "endless", corev1.PodRunning))
}

func podsTerminate(ctx context.Context, t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	for _, p := range []struct {
		name        string
		annotations string
		seconds     int
	}{
		{"obedient", "", 3600},
		{"stubborn", `devicequota.io/ignore-sigterm: "true"`, 1},
		{"endless-end", `devicequota.io/ignore-sigterm: "true"`, 3600},
	} {
		apply(ctx, t, c, pod(p.name, p.annotations, p.seconds))
		eventually(ctx, t, phase(ctx, client, p.name, corev1.PodRunning))
		if err := client.CoreV1().Pods("default").Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"obedient", "stubborn"} {
		eventually(ctx, t, func() error {
			if _, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("pod %s still exists: %v", name, err)
			}
			return nil
		})
	}
	p, err := client.CoreV1().Pods("default").Get(ctx, "endless-end", metav1.GetOptions{})
	if err != nil || p.DeletionTimestamp == nil || p.Status.Phase != corev1.PodRunning {
		t.Errorf("a pod whose grace period is an hour: %v, %v", p, err)
	}
}

func crdsAreServed(ctx context.Context, t *testing.T, c *cluster.Cluster, _ kubernetes.Interface) {
	apply(ctx, t, c, `
{apiVersion: example.com/v1, kind: Later, metadata: {name: a}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: laters.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Later, plural: laters}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
}

func componentsRestart(ctx context.Context, t *testing.T, c *cluster.Cluster, client kubernetes.Interface) {
	for _, name := range []string{cluster.Kwok, cluster.VolcanoScheduler, cluster.APIServer} {
		if err := c.Kill(name); err != nil {
			t.Fatal(err)
		}
		if err := c.Restart(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	apply(ctx, t, c, pod("later", "devicequota.io/run-for: 100ms", 0))
	eventually(ctx, t, phase(ctx, client, "later", corev1.PodSucceeded))
	select {
	case err := <-c.Failed():
		t.Errorf("reported: %v", err)
	default:
	}
}

func manifestIsRejected(ctx context.Context, t *testing.T, c *cluster.Cluster, _ kubernetes.Interface) {
	err := c.ApplyYAML(ctx, "bad.yaml", []byte("{apiVersion: v1, kind: Nonsense, metadata: {name: a}}"))
	if err == nil || !strings.HasPrefix(err.Error(), "bad.yaml, document 1: Nonsense a: ") {
		t.Errorf("got %v", err)
	}
}

func failureIsReported(ctx context.Context, t *testing.T, c *cluster.Cluster, _ kubernetes.Interface) {
	pid := processOf(t, filepath.Join(c.State(), "kubeconfigs", cluster.VolcanoControllers))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.Failed():
		log := filepath.Join(c.State(), "logs", "vc-controller-manager.log")
		if !strings.HasPrefix(err.Error(), "vc-controller-manager: signal: killed; the end of "+log+":\n") {
			t.Errorf("got %v", err)
		}
	case <-ctx.Done():
		t.Error("not reported")
	}
}

func apply(ctx context.Context, t *testing.T, c *cluster.Cluster, yaml string) {
	t.Helper()
	if err := c.ApplyYAML(ctx, "test", []byte(yaml)); err != nil {
		t.Fatal(err)
	}
}

func phase(ctx context.Context, client kubernetes.Interface, name string, want corev1.PodPhase) func() error {
	return func() error {
		p, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != want {
			err = fmt.Errorf("pod %s is %s, want %s", name, p.Status.Phase, want)
		}
		return err
	}
}

func eventually(ctx context.Context, t *testing.T, condition func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = condition()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// processOf returns the process whose command line contains a text.
func processOf(t *testing.T, text string) int {
	t.Helper()
	pids := processesWith(t, text)
	if len(pids) != 1 {
		t.Fatalf("%d processes have %s in their command line, want 1", len(pids), text)
	}
	return pids[0]
}

func processesWith(t *testing.T, text string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), text) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/cmdline", &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
