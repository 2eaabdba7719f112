// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// TestGangEvictionsLetJobsEnterByRight: with gangEvictions, a job without devices is let in although a queue is full, if it may take what it lacks from others.
func TestGangEvictionsLetJobsEnterByRight(t *testing.T) {
	const priority = ", priorityClassName: high"
	for _, test := range []struct {
		name, holder, priority string
		evicted                int
	}{
		{"from a queue that holds more than it deserves", "theirs", "", 2},
		{"from jobs of lower priority", "ours", priority, 2},
		{"but not from jobs of the same priority", "ours", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &borrowed{}
			b.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
			b.add(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}`)
			b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
			b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: org, uid: org}, spec: {weight: 1, parent: root, capability: {cpu: "64"}}}`)
			for _, queue := range []string{"ours", "theirs"} {
				b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s, uid: %[1]s}, spec: {weight: 1, parent: org, deserved: {cpu: "32"}}}`, queue)
			}
			const asks = `containers: [{name: main, image: training, resources: {requests: {cpu: "16"}}}]`
			for n := range 4 {
				b.node(n, 1, 0)
				b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: held-%d, namespace: team, uid: held-%[1]d}, spec: {minMember: 1, queue: %s, minResources: {cpu: "16"}}, status: {phase: Running}}`, n, test.holder)
				b.pod(fmt.Sprint("held-", n), 0, fmt.Sprint("node-", n), asks)
			}
			b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: 2, queue: ours, minResources: {cpu: "32"}%s}}`, test.priority)
			for p := range 2 {
				b.pod("gang", p, "", asks+test.priority)
			}
			configuration := strings.Replace(sample(), "    arguments:\n", "    arguments:\n      gangEvictions: true\n", 1)
			out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, b.String()), Configuration: configuration}, nil)
			if err != nil {
				t.Fatal(err)
			}
			runs, evicted := 0, 0
			for _, w := range out.Workloads {
				evicted += len(w.Evicted)
				if w.Name == "gang" {
					runs = len(w.Pods)
				}
			}
			if runs != test.evicted || evicted != test.evicted {
				t.Errorf("%d pods of the gang run, and %d of others are evicted, want %d", runs, evicted, test.evicted)
			}
		})
	}
}
