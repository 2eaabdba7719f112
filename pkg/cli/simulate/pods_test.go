// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli"
)

// inGroup is a pod of a PodGroup that is not in the same file.
const inGroup = `
apiVersion: v1
kind: Pod
metadata: {name: late, annotations: {scheduling.k8s.io/group-name: GROUP}}
spec: {schedulerName: volcano, containers: [{name: main, image: example, resources: {requests: {cpu: "CPU"}}}]}
`

func TestAPodOfAPodGroupHasAnAnswer(t *testing.T) {
	const group = "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: gang, namespace: default}\nspec: {minMember: 1, queue: team}\n"
	for _, c := range []struct {
		group, cpu, want string
		code             int
	}{
		{"missing", "1", "pod/late in namespace default would wait\n  Cause: PodGroup default/missing does not exist: create it, or correct the annotation", 3},
		{"gang", "1", "pod/late in namespace default would start; its queue is team\n  late on node-1\n", 0},
		{"gang", "100", "pod/late in namespace default would wait; its queue is team\n  Cause: ", 3},
	} {
		pod := strings.NewReplacer("GROUP", c.group, "CPU", c.cpu).Replace(inGroup)
		out, err := simulateOn(t, cluster+group, pod, "-f", "-")
		code := 0
		if exit := (*cli.ExitError)(nil); errors.As(err, &exit) {
			code = exit.Code
		}
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s\nprinted\n%s (exit code %d), want exit code %d and\n%s", pod, out, code, c.code, c.want)
		}
	}
}

// running is a StatefulSet with one pod, which runs.
const running = `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default, uid: db}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: podgroup-db, namespace: default, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]}
spec: {minMember: 1, queue: team}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  namespace: default
  uid: db-0
  annotations: {scheduling.k8s.io/group-name: podgroup-db, scheduling.volcano.sh/queue-name: team}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec: {nodeName: node-1, schedulerName: volcano, containers: [{name: main, image: example, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running}
`

func TestAPodThatRunsGoesOnRunning(t *testing.T) {
	const set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: "
	for in, want := range map[string]string{
		set + "1" + podTemplate: "statefulset/db in namespace default runs; its queue is team\n  Charged: cpu 1, pods 1\n",
		set + "2" + podTemplate: "statefulset/db in namespace default runs; its queue is team\n  Charged: cpu 2, pods 2\n  db-1 on node-1\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: db-0}\nspec: {schedulerName: volcano, containers: []}\n": "Nothing changes.\n",
	} {
		if out, err := simulateOn(t, cluster+running, in, "-f", "-"); err != nil || out != want {
			t.Errorf("%s\nprinted\n%s, %v, want\n%s", in, out, err, want)
		}
	}
}
