// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) []Object {
	t.Helper()
	all, err := Objects(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func printed(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const queues = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {dra: {capability: {h100: {count: 8}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team.a, annotations: {volcano.sh/card.quota: '{"A100":4}'}}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec: {driver: gpu.example.com, devices: [{name: gpu-0, capacity: {memory: {value: 80Gi}}}]}
---
apiVersion: v1
kind: Node
metadata: {name: node, labels: {nvidia.com/gpu.product: H100}}
status: {allocatable: {cpu: "64", nvidia.com/gpu: "8"}}
`

func TestSetChangesTheQuotaThatItNames(t *testing.T) {
	for change, want := range map[string]string{
		"team.h100.count=4":                              "dra:\n    capability:\n      h100:\n        count: 4\n",
		"team.deserved.h100.count=2":                     "deserved:\n      h100:\n        count: 2\n",
		"team.h100.capacity.memory=80Gi":                 "capacity:\n          memory: 80Gi\n        count: 8\n",
		"team.h100.count=":                               "dra:\n    capability: {}\n",
		"team.a.nvidia.com/gpu=3":                        "spec:\n  capability:\n    nvidia.com/gpu: \"3\"\n",
		"team.a.guarantee.cpu=3":                         "guarantee:\n    resource:\n      cpu: \"3\"\n",
		"team.a.deserved.gpu.example.com.count=1":        "deserved:\n      gpu.example.com:\n        count: 1\n",
		"team.a.cards.H100=2":                            `'{"A100":4,"H100":2}'`,
		"team.a.cards.A100=":                             `volcano.sh/card.quota: '{}'`,
		"team.a.deserved.cards.H100=2":                   `volcano.sh/card.deserved: '{"H100":2}'`,
		"team.h100.capacity.gpu.example.com/memory=80Gi": "gpu.example.com/memory: 80Gi",
	} {
		s := &State{Items: parse(t, queues)}
		if err := s.Set(change); err != nil {
			t.Errorf("%s: %v", change, err)
			continue
		}
		if got := printed(t, s.Items); !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: got\n%s, want it to have\n%s", change, got, want)
		}
	}
}

func TestSetSaysWhatIsWrong(t *testing.T) {
	for change, want := range map[string]string{
		"team.h100.count":                 "team.h100.count has no value: write QUEUE",
		"nobody.h100.count=1":             "nobody.h100.count=1: it begins with the name of no queue; there are team, team.a",
		"team.h100.count=-1":              `"-1" is not a number from 0`,
		"team.cpu=many":                   `"many" is not a quantity from 0`,
		"team.a.h100.capacity.memory=1Gi": "queue team.a has no quota of h100: set its count, too",
		"team.a.cards.A1000=1":            "there is no card A1000; there are A100, H100",
		"team.h1000.count=1":              "there is no DeviceClass h1000; there are gpu.example.com, h100",
		"team.h100.cuont=1":               "there is no resource h100.cuont (for devices, write CLASS.count or CLASS.capacity.NAME; for cards, cards.CARD); there are cpu, nvidia.com/gpu",
		"team.h100.capacity.memroy=1Gi":   "there is no capacity memroy of devices; there are gpu.example.com/memory, memory",
	} {
		s := &State{Items: parse(t, queues)}
		if got := fmt.Sprint(s.Set(change)); !strings.Contains(got, want) {
			t.Errorf("%s: got the error %s, want %s", change, got, want)
		}
	}
}

const secretive = `
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  namespace: team-a
  uid: "1"
  managedFields: [{manager: kubectl}]
  labels: {project: manhattan, volcano.sh/queue-name: research}
  annotations: {scheduling.k8s.io/group-name: train, volcano.sh/charged-queue: root/research, kubectl.kubernetes.io/last-applied-configuration: secret}
spec:
  nodeName: host-7
  containers:
  - {name: main, image: secret, command: [secret], args: [secret], env: [{name: PASSWORD, value: secret}], resources: {requests: {cpu: "1"}}}
  volumes: [{name: v, secret: {secretName: secret}}]
  resourceClaims: [{name: gpu, resourceClaimName: train-gpu}]
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {parent: root, dra: {capability: {h100: {count: 8}}}}
---
apiVersion: v1
kind: Node
metadata: {name: host-7, labels: {kubernetes.io/hostname: host-7, nvidia.com/gpu.product: H100, rack: rack-seven}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train-gpu, namespace: team-a}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: h100}}]
    config: [{opaque: {driver: gpu.example.com, parameters: {token: secret}}}]
status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: host-7, device: gpu-0}]}}}
`

func TestWhatMayBeSecretIsLeftOut(t *testing.T) {
	objects := parse(t, secretive)
	for i := range objects {
		strip(&objects[i])
	}
	got := printed(t, objects)
	if strings.Contains(got, "secret") || strings.Contains(got, "managedFields") {
		t.Errorf("what is left has a secret:\n%s", got)
	}
	for _, kept := range []string{"scheduling.k8s.io/group-name: train", "cpu: \"1\"", "resourceClaimName: train-gpu", "device: gpu-0"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is gone:\n%s", kept, got)
		}
	}
}

func TestNamesBecomeTheSameHashEverywhere(t *testing.T) {
	s := &State{Items: parse(t, secretive)}
	got := printed(t, s.Anonymize([]byte("salt")).Items)
	for _, name := range []string{"train-0", "team-a", "research", "host-7", "train-gpu", "manhattan", "rack-seven"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is still there:\n%s", name, got)
		}
	}
	for _, kept := range []string{"h100:", "deviceClassName: h100", "nvidia.com/gpu.product: H100", "driver: gpu.example.com", "parent: root", "device: gpu-0"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is gone:\n%s", kept, got)
		}
	}
	hash := (&anonymizer{salt: []byte("salt")}).hash
	for _, reference := range []string{"nodeName: " + hash("host-7"), "pool: " + hash("host-7"), "hostname: " + hash("host-7"), "root/" + hash("research")} {
		if !strings.Contains(got, reference) {
			t.Errorf("%s is missing:\n%s", reference, got)
		}
	}
	if got == printed(t, s.Anonymize([]byte("another")).Items) {
		t.Error("another salt makes the same hashes")
	}
}

// TestNoTextIsKeptWithoutARule puts a name into each place of an object, known or not.
func TestNoTextIsKeptWithoutARule(t *testing.T) {
	s := &State{
		Unread:        []string{"pods: user manhattan may not list them"},
		Configuration: "actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n    arguments: {queues: 'manhattan,other', manhattan: 1, keep: capacity, extender.urlPrefix: 'http://extender.manhattan-x.svc:80/v1'}\n",
		Items: parse(t, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: manhattan}
spec: {affinity: {nodeGroupAffinity: {required: [manhattan]}}, capability: {cpu: "1", nvidia.com/gpu: "8"}, futureField: manhattan}
status: {reservation: {nodes: [manhattan-node]}}
---
apiVersion: v1
kind: Pod
metadata:
  name: manhattan-0
  namespace: manhattan
  labels: {app.kubernetes.io/instance: manhattan, batch.kubernetes.io/job-name: manhattan-job, volcano.sh/job-name: manhattan-job, kubernetes.io/os: linux}
  annotations: {volcano.sh/task-template: manhattan-job-worker, notes.volcano.sh/owner: Manhattan, volcano.sh/card.name: A100, volcano.sh/preemptable: "true"}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: manhattan-job, uid: 7cf2, controller: true}]
spec:
  hostname: manhattan
  subdomain: manhattan-job
  schedulerName: volcano
  tolerations: [{key: dedicated, operator: Equal, value: manhattan, effect: NoSchedule}]
  affinity: {podAffinity: {required: [{namespaces: [manhattan], topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: [{key: team, operator: In, values: [manhattan]}]}}]}}
  containers: [{name: manhattan, resources: {requests: {cpu: 500m}}}]
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: manhattan, namespace: manhattan}
spec: {minTaskMember: {manhattan-task: 2}, minResources: {cpu: "1"}}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: manhattan-rack}
spec: {members: [{type: Node, selector: {regexMatch: {pattern: ^manhattan-n}}}]}
---
apiVersion: v1
kind: Node
metadata:
  name: manhattan-node
  labels: {metax-tech.com/gpu.product: C500, cores: "64", project: Manhattan, a.node-restriction.kubernetes.io/project: manhattan-x, kops.k8s.io/instancegroup: manhattan-x}
spec: {taints: [{key: dedicated, value: manhattan, effect: NoSchedule}, {key: owner, value: Manhattan, effect: NoExecute}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: manhattan-slice}
spec: {driver: gpu.example.com, pool: {name: manhattan-node}, devices: [{name: gpu-0, attributes: {host: {string: manhattan-node}, model: {string: H100}}}]}
`)}
	anonymous := s.Anonymize([]byte("salt"))
	got := printed(t, anonymous)
	if strings.Contains(strings.ToLower(got), "manhattan") {
		t.Errorf("a name is still there:\n%s", got)
	}
	hash := (&anonymizer{salt: []byte("salt")}).hash
	for _, kept := range []string{
		"kubernetes.io/os: linux", "volcano.sh/card.name: A100", `volcano.sh/preemptable: "true"`, "schedulerName: volcano", "cpu: 500m", `nvidia.com/gpu: "8"`,
		"topologyKey: kubernetes.io/hostname", "gpu.product: C500", "host:\n          string: " + hash("manhattan-node"), "string: H100", `cores: "64"`, "effect: NoSchedule", "name: capacity", "keep: capacity", "- pods\n",
		hash("manhattan-task") + ": 2", "name: " + hash("manhattan-node"), "value: " + hash("manhattan"), "queues: " + hash("manhattan") + ",other",
	} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is missing:\n%s", kept, got)
		}
	}
	if !strings.Contains(printed(t, s), "manhattan-job") {
		t.Error("the state itself has changed")
	}
}

func TestLargeNumbersStayWhole(t *testing.T) {
	const most = "9223372036854775807"
	if got := printed(t, parse(t, strings.Replace(queues, "count: 8", "count: "+most, 1))); !strings.Contains(got, "count: "+most) {
		t.Errorf("got\n%s, want the count %s", got, most)
	}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	s := &State{APIVersion: APIVersion, Kind: Kind, Kubernetes: "v1.34.1", Configuration: "actions: allocate\n", Items: parse(t, secretive)}
	for _, name := range []string{"state.yaml", "state.yaml.gz"} {
		read, err := ReadFile(written(t, s, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := printed(t, read), printed(t, s); got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
	}
}
