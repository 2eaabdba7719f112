// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// poolState is a pool of nodes with cards, and the jobs of one queue. Each pod requests one card. It counts independently of the scheduler.
type poolState struct {
	pool   []string
	nodes  map[string]*corev1.Node
	slices map[string]*resourcev1.ResourceSlice
	pods   map[string]*corev1.Pod
	claims map[string]*resourcev1.ResourceClaim
	jobs   map[string]*batchv1alpha1.Job
}

func newPoolState(pool []string) *poolState {
	return &poolState{
		pool, map[string]*corev1.Node{}, map[string]*resourcev1.ResourceSlice{}, map[string]*corev1.Pod{},
		map[string]*resourcev1.ResourceClaim{}, map[string]*batchv1alpha1.Job{},
	}
}

// holds reports whether a pod has a node and has not ended.
func holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// inUse returns the number of cards that pods hold, plus the devices of claims that no pod holds yet or any more.
func (s *poolState) inUse() int {
	cards := 0
	for _, pod := range s.pods {
		if holds(pod) {
			cards++
		}
	}
	for _, claim := range s.claims {
		if pod := s.podOf(claim); pod == nil || !holds(pod) {
			cards += len(devicesOf(claim))
		}
	}
	return cards
}

func devicesOf(claim *resourcev1.ResourceClaim) []resourcev1.DeviceRequestAllocationResult {
	if claim.Status.Allocation == nil {
		return nil
	}
	return claim.Status.Allocation.Devices.Results
}

// podOf returns the pod that a claim was created for, nil if it is gone.
func (s *poolState) podOf(claim *resourcev1.ResourceClaim) *corev1.Pod {
	if owner := metav1.GetControllerOf(claim); owner != nil {
		if pod := s.pods[owner.Name]; pod != nil && pod.UID == owner.UID {
			return pod
		}
	}
	return nil
}

// claimOf returns the claim of a pod for its extended resource, nil if there is none.
func (s *poolState) claimOf(pod *corev1.Pod) *resourcev1.ResourceClaim {
	for _, claim := range s.claims {
		if s.podOf(claim) == pod {
			return claim
		}
	}
	return nil
}

// podsOn returns the number of pods that hold cards of a node.
func (s *poolState) podsOn(node string) int {
	n := 0
	for _, pod := range s.pods {
		if pod.Spec.NodeName == node && holds(pod) {
			n++
		}
	}
	return n
}

// allocatedOn returns the number of devices of a node that are allocated to claims.
func (s *poolState) allocatedOn(node string) int {
	n := 0
	for _, claim := range s.claims {
		for _, device := range devicesOf(claim) {
			if device.Pool == node {
				n++
			}
		}
	}
	return n
}

// devicePluginCards returns the number of cards that a device plugin serves on a node.
func (s *poolState) devicePluginCards(node string) int {
	if s.nodes[node] == nil {
		return 0
	}
	cards := s.nodes[node].Status.Allocatable[gpus]
	return int(cards.Value())
}

// driverCards returns the number of cards that the DRA driver serves on a node for pods with the extended resource.
func (s *poolState) driverCards(node string) int {
	n := s.nodes[node]
	if n == nil {
		return 0
	}
	cards, listed := n.Status.Allocatable[gpus]
	if listed && (!cards.IsZero() || n.Status.NodeInfo.KubeletVersion < "v1.35") {
		return 0
	}
	devices := 0
	for _, slice := range s.slicesOf(node) {
		devices += len(slice.Spec.Devices)
	}
	return devices
}

func (s *poolState) slicesOf(node string) []*resourcev1.ResourceSlice {
	var all []*resourcev1.ResourceSlice
	for _, slice := range s.slices {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName == node {
			all = append(all, slice)
		}
	}
	return all
}

// freeCards returns the number of cards that are free for more pods on all nodes.
func (s *poolState) freeCards() int {
	free := 0
	for _, name := range s.pool {
		if node := s.nodes[name]; node != nil && !node.Spec.Unschedulable {
			free += max(0, s.devicePluginCards(name)-s.podsOn(name))
			free += max(0, s.driverCards(name)-max(s.podsOn(name), s.allocatedOn(name)))
		}
	}
	return free
}

// waiting returns the names of pods without a node, and of jobs without pods.
func (s *poolState) waiting() []string {
	var names []string
	created := map[string]bool{}
	for _, pod := range s.pods {
		created[pod.Labels[batchv1alpha1.JobNameKey]] = true
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
			names = append(names, "pod "+pod.Name)
		}
	}
	for _, job := range s.jobs {
		if job.Status.State.Phase != batchv1alpha1.Completed && !created[job.Name] {
			names = append(names, "job "+job.Name)
		}
	}
	slices.Sort(names)
	return names
}

// faults returns violations: more cards in use than the quota or a node has, or a device in two claims.
func (s *poolState) faults(quota, cardsPerNode int) []string {
	var faults []string
	if n := s.inUse(); n > quota {
		faults = append(faults, fmt.Sprintf("%d cards are in use, more than %d", n, quota))
	}
	for _, node := range s.pool {
		if n := max(s.podsOn(node), s.allocatedOn(node)); n > cardsPerNode {
			faults = append(faults, fmt.Sprintf("%d cards of node %s are in use, more than %d", n, node, cardsPerNode))
		}
	}
	owner := map[string]string{}
	for _, claim := range s.claims {
		for _, device := range devicesOf(claim) {
			id := device.Pool + "/" + device.Device
			if owner[id] != "" {
				faults = append(faults, fmt.Sprintf("claims %s and %s have device %s", owner[id], claim.Name, id))
			}
			owner[id] = claim.Name
		}
	}
	return faults
}

// misplaced says what is wrong with the node of a pod when it gets it, empty if nothing.
func (s *poolState) misplaced(pod *corev1.Pod) string {
	node, claim := pod.Spec.NodeName, s.claimOf(pod)
	status := pod.Status.ExtendedResourceClaimStatus
	switch plugin, driver := s.devicePluginCards(node), s.driverCards(node); {
	case plugin > 0 && claim == nil && status == nil:
		return ""
	case plugin > 0:
		return fmt.Sprintf("pod %s got node %s, where a device plugin serves its card, and has a claim", pod.Name, node)
	case driver == 0:
		return fmt.Sprintf("pod %s got node %s, where nothing serves its card", pod.Name, node)
	case claim == nil || len(devicesOf(claim)) != 1 || devicesOf(claim)[0].Pool != node:
		return fmt.Sprintf("pod %s got node %s without a device of that node", pod.Name, node)
	case len(claim.Status.ReservedFor) != 1 || claim.Status.ReservedFor[0].UID != pod.UID:
		return fmt.Sprintf("pod %s got node %s, and claim %s is not reserved for it", pod.Name, node, claim.Name)
	case status == nil || status.ResourceClaimName != claim.Name || len(status.RequestMappings) != 1:
		return fmt.Sprintf("pod %s got node %s, and its status does not tell the kubelet about claim %s", pod.Name, node, claim.Name)
	}
	return ""
}

// running returns the number of pods with a node.
func (m *movingPool) running() int {
	return m.now(func(s *poolState) int { return s.podsOn(m.name("first")) + s.podsOn(m.name("second")) })
}

// devicesInUse returns the number of allocated devices of the pool.
func (m *movingPool) devicesInUse() int {
	return m.now(func(s *poolState) int { return s.allocatedOn(m.name("first")) + s.allocatedOn(m.name("second")) })
}
