// SPDX-License-Identifier: Apache-2.0

package workload

import "testing"

func TestWhatTheDispatcherManages(t *testing.T) {
	pods := []PodSet{{Count: 1}}
	for _, c := range []struct {
		name       string
		template   Template
		byDefault  bool
		everything bool
	}{
		{"a workload that names a queue", Template{Kind: "Deployment", Queue: "q", Pods: pods}, true, true},
		{"a workload for Volcano", Template{Kind: "Deployment", ForVolcano: true, Pods: pods}, true, true},
		{"a workload that names none", Template{Kind: "Deployment", Pods: pods}, false, true},
		{"a workload that cannot be counted", Template{Kind: "CronJob"}, false, true},
		{"a workload of an unknown kind", Template{Kind: "Flink", Fallback: true, Pods: pods}, false, true},
		{"what has no pods", Template{Kind: "Service", Fallback: true}, false, false},
		{"the agents of nodes", Template{Kind: "DaemonSet"}, false, false},
		{"a DaemonSet that names a queue", Template{Kind: "DaemonSet", Queue: "q"}, true, true},
	} {
		if got := c.template.Managed(false); got != c.byDefault {
			t.Errorf("%s is managed: %t", c.name, got)
		}
		if got := c.template.Managed(true); got != c.everything {
			t.Errorf("%s is managed if everything is: %t", c.name, got)
		}
	}
}
