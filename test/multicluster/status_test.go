// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"encoding/json"
	"maps"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// queueOf returns the queue that a workload names.
func queueOf(template *unstructured.Unstructured) string {
	if template == nil {
		return ""
	}
	const name = "scheduling.volcano.sh/queue-name"
	if queue, _, _ := unstructured.NestedString(template.Object, "spec", "queue"); queue != "" {
		return queue
	}
	for _, names := range []map[string]string{template.GetLabels(), template.GetAnnotations()} {
		if names[name] != "" {
			return names[name]
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if names, _, _ := unstructured.NestedStringMap(template.Object, "spec", "template", "metadata", field); names[name] != "" {
			return names[name]
		}
	}
	return ""
}

// finished reports whether all clusters report the end of the workload. Without reports, it returns before.
func finished(binding *workv1alpha2.ResourceBinding, before bool) bool {
	reports := map[string]bool{}
	for _, item := range binding.Status.AggregatedStatus {
		if item.Status == nil {
			continue
		}
		if ended, known := hasEnded(item.Status.Raw); known {
			reports[item.ClusterName] = ended
		}
	}
	if slices.Contains(slices.Collect(maps.Values(reports)), false) {
		return false
	}
	for _, cluster := range binding.Spec.Clusters {
		if !reports[cluster.Name] {
			return before
		}
	}
	return before || len(binding.Spec.Clusters) > 0
}

func hasEnded(status []byte) (ended, known bool) {
	var s struct {
		State struct{ Phase string }
		Phase string
		// Active and Conditions are fields of Kubernetes Jobs.
		Active     int
		Conditions []struct{ Type, Status string }
	}
	if err := json.Unmarshal(status, &s); err != nil {
		return false, false
	}
	phase := s.State.Phase + s.Phase
	for _, c := range s.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return true, true
		}
	}
	return slices.Contains([]string{"Completed", "Failed", "Terminated", "Aborted", "Succeeded"}, phase), phase != "" || s.Active > 0
}
