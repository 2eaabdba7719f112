// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestAPodThatNamesItsNodeIsCharged: it ran without a check of the quota. Its queue gets nothing more.
func TestAPodThatNamesItsNodeIsCharged(t *testing.T) {
	c := newCalmCluster(t)
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cpu(2) })
	c.node("n1", 8)
	for _, name := range []string{"a", "b", "c"} {
		c.group(name, "q", 1, nil)
		c.pod(name, name, func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n1", corev1.PodRunning })
	}
	c.single("waits", "q")
	c.turn()
	c.expectPlaces("a@n1 b@n1 c@n1 waits@")
	for _, name := range []string{"a", "b"} {
		pod, _ := c.pods.get(name)
		c.deletePod(pod)
	}
	c.turn()
	c.expectPlaces("c@n1 waits@n1")
}
