// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/devicequota/devicequota/pkg/demand/requests"
)

// podFacts is what the plugin keeps about a pod.
type podFacts struct {
	// counted says that the quota applies to the pod: it uses no GPU, and label-selector selects it.
	counted bool
	// requests are in the order of the controlled resources.
	requests []amount
	strategy strategy
	// unknownStrategy is the value of the pod's annotation if it is not a strategy.
	unknownStrategy string
	// lasting facts depend on nothing but the pod.
	lasting bool
	// session is the number of the last session that needed the facts.
	session uint64
}

// newPodFacts reads a pod. Classes returns the DeviceClasses that the pod's claims ask for, by request. A request that a device without a GPU can
// satisfy does not make a GPU pod, because any user could add a GPU as an alternative.
func (c *config) newPodFacts(pod *corev1.Pod, classes func(*corev1.Pod) [][]string) *podFacts {
	facts := &podFacts{lasting: len(c.gpuClasses) == 0 || len(pod.Spec.ResourceClaims) == 0}
	if !c.selector.Matches(labels.Set(pod.Labels)) {
		return facts
	}
	effective := requests.OfPod(pod)
	if anyMatches(c.gpuNames, effective) {
		return facts
	}
	if !facts.lasting {
		isOther := func(class string) bool { return !c.gpuClasses[class] }
		for _, request := range classes(pod) {
			if len(request) > 0 && !slices.ContainsFunc(request, isOther) {
				return facts
			}
		}
	}
	facts.counted = true
	facts.requests = make([]amount, len(c.resources))
	for i := range c.resources {
		facts.requests[i] = atLeast(c.resources[i].name, effective[c.resources[i].name])
	}
	facts.strategy, facts.unknownStrategy = parseStrategy(pod.Annotations[strategyAnnotation])
	return facts
}
