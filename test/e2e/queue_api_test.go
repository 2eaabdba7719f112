// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// tryQueue creates a queue with spec.dra as YAML in dry-run mode.
func tryQueue(ctx context.Context, dra string) error {
	json, err := yaml.YAMLToJSON(fmt.Appendf(nil, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {generateName: try-}
spec: {parent: root, dra: %s}`, dra))
	Expect(err).NotTo(HaveOccurred())
	queue := &unstructured.Unstructured{}
	Expect(queue.UnmarshalJSON(json)).To(Succeed())
	client := dynamic.NewForConfigOrDie(controlPlane.Config())
	queues := schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
	_, err = client.Resource(queues).Create(ctx, queue, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

var _ = DescribeTable("The API server accepts a queue whose dra",
	func(ctx context.Context, dra string) { Expect(tryQueue(ctx, dra)).To(Succeed()) },
	Entry("is empty", `{}`),
	Entry("has all three limits", `{capability: {h100: {count: 8}}, deserved: {h100: {count: 4}}, guarantee: {h100: {count: 4}}}`),
	Entry("has a count of zero", `{capability: {h100: {count: 0}}}`),
	Entry("has the largest count", `{capability: {h100: {count: 9223372036854775807}}}`),
	Entry("has capacity as numbers and strings", `{capability: {hami-core-gpu.project-hami.io: {count: 80, capacity: {cores: 800, memory: 80Gi, gpu.example.com/slots: "7"}}}}`),
	Entry("writes equal quantities differently", `{capability: {h100: {count: 1, capacity: {memory: 1Gi}}}, guarantee: {h100: {count: 1, capacity: {memory: 1024Mi}}}}`),
	Entry("guarantees a class that has no capability", `{capability: {h100: {count: 1}}, guarantee: {a100: {count: 2}}}`),
	Entry("guarantees a dimension that has no capability", `{capability: {h100: {count: 1}}, guarantee: {h100: {count: 1, capacity: {memory: 1Gi}}}}`),
)

var _ = DescribeTable("The API server rejects a queue whose dra",
	func(ctx context.Context, dra, message string) {
		Expect(tryQueue(ctx, dra)).To(MatchError(ContainSubstring(message)))
	},
	Entry("has no count", `{capability: {h100: {}}}`, `spec.dra.capability.h100.count: Required value`),
	Entry("has a negative count", `{deserved: {h100: {count: -1}}}`, `spec.dra.deserved.h100.count: Invalid value: -1: spec.dra.deserved.h100.count in body should be greater than or equal to 0`),
	Entry("has a fractional count", `{guarantee: {h100: {count: 1.5}}}`, `spec.dra.guarantee.h100.count: Invalid value`),
	Entry("has a negative quantity", `{capability: {h100: {count: 1, capacity: {memory: -1Gi}}}}`, `spec.dra.capability[h100].capacity: Invalid value: "object": negative quantity for memory`),
	Entry("has a negative number as quantity", `{capability: {h100: {count: 1, capacity: {memory: -1}}}}`, `spec.dra.capability[h100].capacity: Invalid value: "object": negative quantity for memory`),
	Entry("has an invalid quantity", `{capability: {h100: {count: 1, capacity: {memory: lots}}}}`, `spec.dra.capability.h100.capacity.memory: Invalid value: "lots"`),
	Entry("has an invalid class name", `{capability: {NVIDIA_H100: {count: 1}}}`, `spec.dra.capability: Invalid value: "object": not the name of a DeviceClass (a DNS subdomain): NVIDIA_H100`),
	Entry("has an empty class name", `{capability: {"": {count: 1}}}`, `spec.dra.capability: Invalid value: "object": not the name of a DeviceClass`),
	Entry("has an invalid dimension name", `{capability: {h100: {count: 1, capacity: {gpu-memory: 1Gi}}}}`, `spec.dra.capability[h100].capacity: Invalid value: "object": not the name of a capacity dimension (an identifier, which a domain and a slash may precede): gpu-memory`),
	Entry("deserves more than its capability", `{capability: {a100: {count: 9}, h100: {count: 1}}, deserved: {a100: {count: 9}, h100: {count: 2}}}`, `spec.dra.deserved: Invalid value: "object": deserved count 2 exceeds capability count 1 of class h100`),
	Entry("guarantees more than it deserves", `{deserved: {h100: {count: 1}}, guarantee: {h100: {count: 2}}}`, `spec.dra.guarantee: Invalid value: "object": guarantee count 2 exceeds deserved count 1 of class h100`),
	Entry("guarantees more than its capability", `{capability: {h100: {count: 1}}, guarantee: {h100: {count: 2}}}`, `spec.dra.guarantee: Invalid value: "object": guarantee count 2 exceeds capability count 1 of class h100`),
	Entry("deserves more of a dimension than its capability", `{capability: {h100: {count: 1, capacity: {memory: 1Gi}}}, deserved: {h100: {count: 1, capacity: {memory: 1025Mi}}}}`, `spec.dra.deserved: Invalid value: "object": deserved capacity 1025Mi exceeds capability capacity 1Gi of class h100, dimension memory`),
	Entry("guarantees more of a dimension than it deserves", `{deserved: {h100: {count: 1, capacity: {cores: 5}}}, guarantee: {h100: {count: 1, capacity: {cores: "5.5"}}}}`, `spec.dra.guarantee: Invalid value: "object": guarantee capacity 5.5 exceeds deserved capacity 5 of class h100, dimension cores`),
	Entry("guarantees more of a dimension than its capability", `{capability: {h100: {count: 1, capacity: {cores: 5}}}, guarantee: {h100: {count: 1, capacity: {cores: 6}}}}`, `spec.dra.guarantee: Invalid value: "object": guarantee capacity 6 exceeds capability capacity 5 of class h100, dimension cores`),
)
