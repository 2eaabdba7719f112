// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAGangOfClaimsAloneStartsAsAWhole: the gang comes before a single pod that asks for a device, too.
func TestAGangOfClaimsAloneStartsAsAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		devices int
		first   corev1.ResourceList // of the first pod of the gang
		want    string
	}{
		"too few devices":              {2, nil, "g-0:Pending g-1:Pending g-2:Pending single:Binding"},
		"enough devices":               {3, nil, "g-0:Binding g-1:Binding g-2:Binding single:Pending"},
		"more devices":                 {4, nil, "g-0:Binding g-1:Binding g-2:Binding single:Binding"},
		"a pod that requests cpu, too": {3, cpu(1), "g-0:Binding g-1:Binding g-2:Binding single:Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(c.devices)
			s.withDevices(nil)
			s.job("g", "q", inqueue, nil, s.claimed(1, newPod("g-0", "", c.first)), s.claimed(1, newPod("g-1", "", nil)), s.claimed(1, newPod("g-2", "", nil)))
			s.job("single", "q", inqueue, nil, s.claimed(1, newPod("single", "", nil)))
			for i, group := range s.PodGroups {
				group.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
			}
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

// TestGangsOfClaimsAloneTakeTurns: none of the gangs that lack devices keeps a device from the last one, which has enough.
func TestGangsOfClaimsAloneTakeTurns(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(3)
	s.withDevices(nil)
	for g, size := range []int{5, 4, 3} {
		var pods []*corev1.Pod
		for i := range size {
			pods = append(pods, s.claimed(1, newPod(fmt.Sprintf("g%d-%d", size, i), "", nil)))
		}
		s.job(fmt.Sprint("g", size), "q", inqueue, nil, pods...)
		s.PodGroups[g].CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+g), 0))
	}
	expectStatuses(t, s.act(t), "g3-0:Binding g3-1:Binding g3-2:Binding g4-0:Pending g4-1:Pending g4-2:Pending g4-3:Pending "+
		"g5-0:Pending g5-1:Pending g5-2:Pending g5-3:Pending g5-4:Pending")
}

// TestAGangOfClaimsAloneStartsWhenAllItsVictimsHaveGone: the pods of the gang are nominated, and wait for each other.
func TestAGangOfClaimsAloneStartsWhenAllItsVictimsHaveGone(t *testing.T) {
	c := lendingCluster(t)
	c.group("g", "q", 2, nil)
	for _, name := range []string{"g1", "g2"} {
		c.pod(name, "g", func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }, "h100")
	}
	c.turn()
	c.expectPlaces("g1@ g2@ v1@n1x v2@n1x")
	first, _ := c.pods.get("v2")
	c.deletePod(first)
	c.control()
	c.turn()
	c.expectPlaces("g1@ g2@ v1@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("g1@n1 g2@n1")
}
