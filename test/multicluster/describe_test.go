// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	// maxLogLines bounds the lines of each log, and maxLogLine the bytes of each line.
	maxLogLines = 30
	maxLogLine  = 300
)

// describe describes the workloads of the case: the log lines of all components about it, its pods, its Works, and its bindings with the
// dispatcher's events. What explains most comes last.
func (f *fixture) describe(ctx context.Context) string {
	text := &strings.Builder{}
	f.describeLogs(text)
	f.describePods(ctx, text)
	f.describeWorks(ctx, text)
	f.describeBindings(ctx, text)
	return text.String()
}

func (f *fixture) describeBindings(ctx context.Context, text *strings.Builder) {
	bindings, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(text, err)
		return
	}
	events, err := hub.kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "source=vc-dispatcher"})
	if err != nil {
		fmt.Fprintln(text, err)
		return
	}
	for _, b := range bindings.Items {
		fmt.Fprintf(text, "%s: held %t, clusters %v, finalizers %v, deleted %v\n", b.Name, isHeld(&b), b.Spec.Clusters, b.Finalizers, b.DeletionTimestamp)
		for name, value := range b.Annotations {
			if strings.HasPrefix(name, "volcano.sh/") || strings.HasSuffix(name, ".karmada.io/name") {
				fmt.Fprintf(text, "  %s: %s\n", name, value)
			}
		}
		for _, c := range b.Status.Conditions {
			fmt.Fprintf(text, "  %s %s=%s %s: %s\n", c.LastTransitionTime.Format(time.TimeOnly), c.Type, c.Status, c.Reason, c.Message)
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == b.Name {
				fmt.Fprintf(text, "  %s %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.Reason, e.Message)
			}
		}
	}
}

func (f *fixture) describeWorks(ctx context.Context, text *strings.Builder) {
	works, err := karmada.WorkV1alpha1().Works(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(text, err)
		return
	}
	for _, w := range works.Items {
		if w.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey] != f.namespace {
			continue
		}
		fmt.Fprintf(text, "Work of %s in %s: deleted %v, statuses %d\n",
			w.Annotations[workv1alpha2.ResourceBindingNameAnnotationKey], w.Namespace, w.DeletionTimestamp, len(w.Status.ManifestStatuses))
		for _, c := range w.Status.Conditions {
			fmt.Fprintf(text, "  %s %s=%s %s: %s\n", c.LastTransitionTime.Format(time.TimeOnly), c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

func (f *fixture) describePods(ctx context.Context, text *strings.Builder) {
	for name, member := range members {
		pods, err := member.kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Fprintln(text, err)
			continue
		}
		for _, p := range pods.Items {
			fmt.Fprintf(text, "pod %s in %s: %s on node %q, deleted %v\n", p.Name, name, p.Status.Phase, p.Spec.NodeName, p.DeletionTimestamp)
			for _, c := range p.Status.Conditions {
				if c.Message != "" {
					fmt.Fprintf(text, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
				}
			}
		}
	}
}

// describeLogs adds the last lines of each log that name the namespace.
func (f *fixture) describeLogs(text *strings.Builder) {
	states := map[string]string{"karmada": multicluster.State()}
	for name := range members {
		states[name] = multicluster.Member(name).State()
	}
	for owner, state := range states {
		logs, _ := filepath.Glob(filepath.Join(state, "logs", "*.log"))
		for _, log := range logs {
			if filepath.Base(log) == cluster.Kwok+".log" {
				continue // it logs each patch without its content
			}
			content, err := os.ReadFile(log)
			if err != nil {
				fmt.Fprintln(text, err)
				continue
			}
			var lines []string
			for line := range strings.Lines(string(content)) {
				if strings.Contains(line, f.namespace) {
					lines = append(lines, "  "+strings.TrimSpace(line[:min(len(line), maxLogLine)]))
				}
			}
			if lines = lines[max(0, len(lines)-maxLogLines):]; len(lines) > 0 {
				fmt.Fprintf(text, "%s of %s:\n%s\n", filepath.Base(log), owner, strings.Join(lines, "\n"))
			}
		}
	}
}

// describeFailure keeps a description of the workloads of a failed spec.
func (f *fixture) describeFailure(ctx context.Context) {
	if CurrentSpecReport().Failed() {
		keepFailure(f.describe(ctx) + CurrentSpecReport().FailureMessage())
	}
}
