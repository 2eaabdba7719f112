// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "crossquota"

// Arguments of the plugin crossquota. The name of a resource follows those that end in a dot.
const (
	// argGPUResourceNames are patterns of the resources that make a node a GPU node, and a pod a GPU pod.
	argGPUResourceNames = "gpu-resource-names"
	// argGPUDeviceClasses are the DeviceClasses that do the same.
	argGPUDeviceClasses = "gpu-device-classes"
	// argLabelSelector selects the pods that the quota is for. The default is all pods.
	argLabelSelector = "label-selector"
	// argQuotaResources are the resources that have a quota on GPU nodes. The default is cpu.
	argQuotaResources = "quota-resources"
	// argQuota is how much of a resource pods without a GPU may hold of each GPU node.
	argQuota = "quota."
	// argQuotaPercentage is the same, in percent of what the node has.
	argQuotaPercentage = "quota-percentage."
	// argWeight is the weight of a resource in the score, from 0 to 1000000. The default is 10 for cpu, and 1 for others.
	argWeight = "weight."
	// argPluginWeight is the highest score, from 0 to 1000000, where 0 turns ranking off. The default is 10.
	argPluginWeight = "crossQuotaWeight"
	// argPreferPlain gives nodes without a GPU the highest score. The default is false.
	argPreferPlain = "prefer-non-gpu-nodes"
)

// Annotations of the plugin crossquota. The name of a resource follows those that end in a hyphen, see annotationSuffix.
const (
	// quotaAnnotation on a node replaces the argument quota of a resource.
	quotaAnnotation = "volcano.sh/crossquota-"
	// percentageAnnotation on a node replaces the argument quota-percentage of a resource.
	percentageAnnotation = "volcano.sh/crossquota-percentage-"
	// strategyAnnotation on a pod is the strategy by which GPU nodes are ranked for the pod: most-allocated or least-allocated. The default is most-allocated.
	strategyAnnotation = "volcano.sh/crossquota-scoring-strategy"
)

// Reasons of events of the plugin crossquota.
const (
	// reasonInvalidQuota says that an annotation of a node cannot be read.
	reasonInvalidQuota = "InvalidCrossQuota"
	// reasonUnknownStrategy says that the scoring strategy of a pod does not exist.
	reasonUnknownStrategy = "UnknownScoringStrategy"
)

const (
	defaultPluginWeight = 10
	// maxWeight keeps scores finite.
	maxWeight = 1_000_000
)

// defaultWeight returns the weight of a resource in the score if the arguments set none.
func defaultWeight(name corev1.ResourceName) float64 {
	if name == corev1.ResourceCPU {
		return 10
	}
	return 1
}

// annotationSuffix returns the name of a resource for the key of an annotation. Keys have one slash,
// which follows the domain, so a slash in the name is replaced.
func annotationSuffix(name corev1.ResourceName) string {
	return strings.ReplaceAll(string(name), "/", "_")
}
