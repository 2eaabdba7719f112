// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// FuzzIncremental checks that pods that share the answers of nodes get the nodes and devices, and wait for the reasons, that they would without. The pods
// prefer some nodes to others so strongly that no two nodes have the same score.
func FuzzIncremental(f *testing.F) {
	for seed := range clusters(16) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := randomCluster{Rand: rand.New(rand.NewPCG(seed, 1)), open: seed%2 == 0}
		c.make()
		var outcomes [2][]Workload
		for i, share := range []string{"true", "false"} {
			state := &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, c.text.String()), Configuration: c.configuration(share)}
			out, err := Run(t.Context(), state, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes[i] = out.Workloads
			for j := range outcomes[i] {
				if c.open {
					outcomes[i][j].Why = nil // also nodes that were not asked may have devices that the quota refuses
				}
			}
		}
		generated := cmp.Transformer("", func(d v1alpha1.DeviceID) string {
			claim, _, _ := strings.Cut(d.Claim, "extended-resources-") // the rest is generated
			return fmt.Sprint(claim, d.Driver, d.Pool, d.Device)
		})
		if diff := cmp.Diff(outcomes[1], outcomes[0], generated); diff != "" {
			t.Errorf("seed %d: with shared rankings (+) and without (-):\n%s\n%s", seed, diff, c.text.String())
		}
	})
}

// randomCluster has nodes with cards and devices of two classes, queues that limit them, and jobs of all kinds.
type randomCluster struct {
	*rand.Rand
	// open says that the charge of a pod depends on the devices that it gets.
	open bool
	// selector and taint keep pods from some nodes. Only one of them is used: upstream names either of two such reasons.
	selector, taint string
	nodes, queues   int
	text            strings.Builder
}

func (c *randomCluster) configuration(share string) string {
	accounting := "requested"
	if c.open {
		accounting = "matching"
	}
	text := strings.Replace(sample(), "deviceAccounting: matching", "deviceAccounting: "+accounting+"\n      incremental: "+share, 1)
	text = strings.Replace(text, "- name: nodeorder\n", "- name: nodeorder\n    arguments: {nodeaffinity.weight: 1000}\n", 1)
	// With this cache, a pod does not know all that was found out about nodes that an earlier pod with the same role had asked.
	return text + "\nconfigurations: [{name: allocate, arguments: {predicateErrorCacheEnable: false}}]\n"
}

func (c *randomCluster) object(format string, arguments ...any) {
	fmt.Fprintf(&c.text, "---\n# YAML, not JSON\n"+format+"\n", arguments...)
}

func (c *randomCluster) oneOf(texts ...string) string { return texts[c.IntN(len(texts))] }

func (c *randomCluster) make() {
	c.nodes, c.queues = 1+c.IntN(6), 1+c.IntN(3)
	if c.IntN(2) == 0 {
		c.selector = `, nodeSelector: {zone: east}`
	} else {
		c.taint = `, taints: [{key: reserved, effect: NoSchedule}]`
	}
	c.object(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	for _, model := range []string{"a", "b"} {
		c.object(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %s}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "%[1]s"'}}]}}`, model)
	}
	c.object(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	for i, requests := range claimTemplates {
		c.object(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: claim-%d, namespace: team}, spec: {spec: {devices: {requests: %s}}}}`, i, requests)
	}
	c.object(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	for q := range c.queues {
		c.object(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: queue-%d, uid: queue-%[1]d, annotations: {volcano.sh/card.quota: '{"A100": %[2]d, "L4": %[3]d}'}}, spec: {weight: 1, parent: root, capability: {cpu: %[4]d}, dra: {capability: {%[5]s: {count: %[6]d}, gpu: {count: %[7]d}}}}}`,
			q, c.IntN(12), c.IntN(12), 4+c.IntN(60), c.oneOf("a", "b"), c.IntN(12), c.IntN(20))
	}
	for n := range c.nodes {
		c.node(n)
	}
	for j := range 2 + c.IntN(8) {
		c.job(j)
	}
}

// claimTemplates are the requests of claims.
var claimTemplates = []string{
	`[{name: r, exactly: {deviceClassName: a, count: 1}}]`,
	`[{name: r, exactly: {deviceClassName: gpu, count: 1}}]`,
	`[{name: r, exactly: {deviceClassName: gpu, count: 3}}]`,
	`[{name: r, exactly: {deviceClassName: a, count: 1}}, {name: s, exactly: {deviceClassName: b, count: 1}}]`,
	`[{name: r, firstAvailable: [{name: x, deviceClassName: b, count: 2}, {name: z, deviceClassName: a, count: 1}]}]`,
}

// claim returns the number of a template. Only the last one has an alternative.
func (c *randomCluster) claim() int {
	if c.open {
		return c.IntN(len(claimTemplates))
	}
	return c.IntN(len(claimTemplates) - 1)
}

func (c *randomCluster) node(n int) {
	cards := c.oneOf(`nvidia.com/gpu: "4", `, "")
	pods := 110
	if c.open {
		pods = 3 + c.IntN(20)
	}
	amounts := fmt.Sprintf(`{cpu: "%d", memory: 64Gi, %spods: "%d"}`, 4+c.IntN(28), cards, pods)
	c.object(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d, zone: %[2]s, nvidia.com/gpu.product: %[3]s}}, spec: {providerID: x%[4]s}, status: {capacity: %[5]s, allocatable: %[5]s, conditions: [{type: Ready, status: "True"}]}}`,
		n, c.oneOf("east", "west"), c.oneOf("A100", "L4"), c.oneOf("", "", "", c.taint), amounts)
	var devices []string
	for d := range c.IntN(6) {
		devices = append(devices, fmt.Sprintf(`{name: gpu-%d, attributes: {model: {string: %s}}}`, d, c.oneOf("a", "b")))
	}
	c.object(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d-gpus, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [%[2]s]}}`,
		n, strings.Join(devices, ", "))
}

// job adds a PodGroup, and its pods of one or two kinds.
func (c *randomCluster) job(j int) {
	pods, kinds := 1+c.IntN(5), []string{c.spec(), c.spec()}
	groups := c.oneOf("", "", "", fmt.Sprintf(`, subGroupPolicy: [{name: by-app, subGroupSize: %d, matchLabelKeys: [app]}]`, 1+c.IntN(2)))
	c.object(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: job-%d, namespace: team, uid: job-%[1]d, creationTimestamp: "2026-01-01T00:00:%02[1]dZ"}, spec: {minMember: %[2]d, queue: queue-%[3]d%[4]s}}`,
		j, 1+c.IntN(pods), c.IntN(c.queues), groups)
	for p := range pods {
		c.object(`{apiVersion: v1, kind: Pod, metadata: {name: job-%d-%d, namespace: team, uid: job-%[1]d-%[2]d, creationTimestamp: "2026-01-01T00:01:%02[1]dZ", labels: {app: %[3]s}, annotations: {scheduling.k8s.io/group-name: job-%[1]d, volcano.sh/task-spec: kind-%[4]d}}, spec: %[5]s}`,
			j, p, c.oneOf("x", "z"), p%2, kinds[p%2])
	}
}

func (c *randomCluster) spec() string {
	var preferred []string
	shift := c.IntN(c.nodes)
	for n := range c.nodes {
		preferred = append(preferred, fmt.Sprintf(`{weight: %d, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-%d]}]}}`, 10*(1+(n+shift)%c.nodes), n))
	}
	others := c.oneOf("", "", "", "", fmt.Sprintf(`, podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}]}`, c.oneOf("x", "z")))
	resources := fmt.Sprintf(`requests: {cpu: "%d", memory: 1Gi}`, 1+c.IntN(4))
	claims := ""
	switch c.IntN(6) {
	case 0: // neither cards nor devices
	case 1:
		resources = fmt.Sprintf(`requests: {cpu: "1", nvidia.com/gpu: "%d"}, limits: {nvidia.com/gpu: "%[1]d"}`, 1+c.IntN(3))
	case 2:
		resources = fmt.Sprintf(`requests: {cpu: "1", example.com/gpu: "%d"}, limits: {example.com/gpu: "%[1]d"}`, 1+c.IntN(2))
	default:
		resources += `, claims: [{name: gpu}]`
		claims = fmt.Sprintf(`, resourceClaims: [{name: gpu, resourceClaimTemplateName: claim-%d}]`, c.claim())
	}
	return fmt.Sprintf(`{schedulerName: volcano, affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}%s}%s%s%s, containers: [{name: main, image: training%s, resources: {%s}}]}`,
		strings.Join(preferred, ", "), others, claims, c.oneOf("", "", c.selector), c.oneOf("", `, tolerations: [{key: reserved, operator: Exists}]`),
		c.oneOf("", "", `, ports: [{containerPort: 80, hostPort: 80}]`), resources)
}
