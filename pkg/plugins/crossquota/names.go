// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "crossquota"

// Arguments of the plugin. The name of a resource follows those that end in a dot.
const (
	argGPUResourceNames = "gpu-resource-names"
	argGPUDeviceClasses = "gpu-device-classes"
	argLabelSelector    = "label-selector"
	argQuotaResources   = "quota-resources"
	argQuota            = "quota."
	argQuotaPercentage  = "quota-percentage."
	argWeight           = "weight."
	argPluginWeight     = "crossQuotaWeight"
	argPreferPlain      = "prefer-non-gpu-nodes"
)

// Annotations. The name of a resource follows those of nodes, see annotationSuffix.
const (
	quotaAnnotation      = "volcano.sh/crossquota-"
	percentageAnnotation = "volcano.sh/crossquota-percentage-"
	strategyAnnotation   = "volcano.sh/crossquota-scoring-strategy"
)

// Reasons of events.
const (
	reasonInvalidQuota    = "InvalidCrossQuota"
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
