// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// TestAGangStartsWithThePodsForWhichItsQueueHasRoom: the quota has room for all pods that the gang needs, but not if those that come first get what they can have.
func TestAGangStartsWithThePodsForWhichItsQueueHasRoom(t *testing.T) {
	const container = `containers: [{name: main, image: training, resources: {requests: {cpu: "%d", nvidia.com/gpu: "%d"}, limits: {nvidia.com/gpu: "%[2]d"}}}]`
	const prefers = `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: "on", operator: In, values: [n0]}]}}]}}, `
	for _, test := range []struct {
		name, cards, cpu string
		needs            int
		pods             []string
	}{
		{"the first pod takes all cpu of the queue", `{}`, "4", 2, []string{fmt.Sprintf(container, 4, 0), fmt.Sprintf(container, 2, 0), fmt.Sprintf(container, 2, 0)}},
		{"the first pods take the only cards that another one can use", `{"A100": 2, "H100": 2}`, "8", 4, []string{
			prefers + fmt.Sprintf(container, 1, 1), prefers + fmt.Sprintf(container, 1, 1),
			"nodeSelector: {on: n0}, " + fmt.Sprintf(container, 1, 1), "nodeSelector: {on: n1}, " + fmt.Sprintf(container, 1, 1),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &racks{}
			r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ours, uid: ours, annotations: {volcano.sh/card.quota: '%s'}}, spec: {weight: 1, parent: root, capability: {cpu: "%s"}}}`, test.cards, test.cpu)
			for n, card := range []string{"A100", "H100"} {
				r.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {on: n%[1]d, nvidia.com/gpu.product: %s}}, status: {capacity: &all {cpu: "8", memory: 64Gi, pods: "110", nvidia.com/gpu: "4"}, allocatable: *all, conditions: [{type: Ready, status: "True"}]}}`, n, card)
			}
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: %d, queue: ours}}`, test.needs)
			for p, asks := range test.pods {
				r.pod("gang", p, "", asks)
			}
			out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range out.Workloads {
				if w.Name == "gang" && len(w.Pods) != test.needs {
					t.Errorf("%d pods of the gang run, want %d: %+v", len(w.Pods), test.needs, w.Why)
				}
			}
		})
	}
}
