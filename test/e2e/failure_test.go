// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// failures is a file with what reportFailure found about the specs that failed. CI prints its end.
var failures = filepath.Join("..", "..", "bin", "e2e-failures.txt")

// reportFailure keeps what explains a failure, before the objects of the spec are deleted: its jobs, its pods, its events, and the ends of
// the logs of the control plane. If the failure names namespaces, the report is about these only.
func reportFailure(ctx context.Context) {
	var report strings.Builder
	failed := CurrentSpecReport()
	of := must(namespacesIn(ctx, failed.FailureMessage()))
	logs := must(filepath.Glob(filepath.Join(controlPlane.State(), "logs", "*.log")))
	for _, path := range logs {
		log := must(os.ReadFile(path))
		text := about(of, string(log))
		fmt.Fprintf(&report, "--- %s\n%s\n", filepath.Base(path), text[max(0, len(text)-5_000):])
	}
	var objects strings.Builder
	writeObjects(ctx, &objects)
	fmt.Fprintf(&report, "%s--- %s\n%s\n", about(of, objects.String()), failed.FullText(), failed.FailureMessage())

	file := must(os.OpenFile(failures, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	must(file.WriteString(report.String()))
	Expect(file.Close()).To(Succeed())
}

// namespacesIn returns the namespaces that a text names.
func namespacesIn(ctx context.Context, text string) ([]string, error) {
	all, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	var names []string
	for _, namespace := range all.Items {
		if namespace.Name != metav1.NamespaceDefault && strings.Contains(text, namespace.Name) {
			names = append(names, namespace.Name)
		}
	}
	return names, err
}

// about returns the lines of a text that name one of some namespaces, and all lines if there are none.
func about(namespaces []string, text string) string {
	if len(namespaces) == 0 {
		return text
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(namespaces, func(name string) bool { return strings.Contains(line, name) }) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// writeObjects writes a line for each job, pod, claim, and event in the namespaces of specs.
func writeObjects(ctx context.Context, w *strings.Builder) {
	all := metav1.ListOptions{}
	events := must(kube.CoreV1().Events(metav1.NamespaceAll).List(ctx, all))
	for _, e := range events.Items {
		fmt.Fprintf(w, "event %s %s %s/%s: %s, %d times: %.300s\n", e.LastTimestamp.Format("15:04:05"), e.InvolvedObject.Kind, e.InvolvedObject.Namespace,
			e.InvolvedObject.Name, e.Reason, e.Count, e.Message)
	}
	groups := must(vc.SchedulingV1beta1().PodGroups(metav1.NamespaceAll).List(ctx, all))
	for _, g := range groups.Items {
		fmt.Fprintf(w, "podgroup %s/%s: %s in queue %s, created %s, deleted %s\n", g.Namespace, g.Name, g.Status.Phase, g.Spec.Queue, g.CreationTimestamp, g.DeletionTimestamp)
	}
	jobs := must(vc.BatchV1alpha1().Jobs(metav1.NamespaceAll).List(ctx, all))
	for _, j := range jobs.Items {
		fmt.Fprintf(w, "job %s/%s: %s, created %s, deleted %s\n", j.Namespace, j.Name, j.Status.State.Phase, j.CreationTimestamp, j.DeletionTimestamp)
	}
	pods := must(kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, all))
	for _, pod := range pods.Items {
		fmt.Fprintf(w, "pod %s/%s: %s on %q, created %s, deleted %s\n", pod.Namespace, pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.CreationTimestamp, pod.DeletionTimestamp)
	}
	claims := must(kube.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(ctx, all))
	for _, c := range claims.Items {
		fmt.Fprintf(w, "claim %s/%s: created %s, deleted %s, requests", c.Namespace, c.Name, c.CreationTimestamp, c.DeletionTimestamp)
		for _, r := range c.Spec.Devices.Requests {
			fmt.Fprintf(w, " %s %s", r.Name, ptr.Deref(r.Exactly, resourcev1.ExactDeviceRequest{}).DeviceClassName)
		}
		if c.Status.Allocation != nil {
			for _, r := range c.Status.Allocation.Devices.Results {
				fmt.Fprintf(w, ", has %s/%s share %q", r.Pool, r.Device, ptr.Deref(r.ShareID, ""))
			}
		}
		fmt.Fprintln(w)
	}
}
