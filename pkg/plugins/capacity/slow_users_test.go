// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/dra"
)

// halves splits the devices of node n0 into a left and a right half of these sizes.
func (s *fixture) halves(left, right int) {
	slice := s.ResourceSlices[0]
	slice.Spec.Devices = nil
	for i := range left + right {
		half := "left"
		if i >= left {
			half = "right"
		}
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprint("d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"half": {StringValue: ptr.To(half)}},
		})
	}
}

// puzzled gives a pod a claim for devices of the same half. No other pod has the same claim.
func (s *fixture) puzzled(p *corev1.Pod, devices int) *corev1.Pod {
	s.withRequests(p, resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(devices),
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("%q != ''", p.Name)}}},
	}})
	claim := s.ResourceClaims[len(s.ResourceClaims)-1]
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName(testDriver + "/half"))}}
	return p
}

// statusAfter runs a session, and returns the status of a pod in it.
func (s *fixture) statusAfter(t *testing.T, scheduler *schedulercache.SchedulerCache, pod string) string {
	t.Helper()
	ssn, _ := s.next(scheduler)
	defer framework.CloseSession(ssn)
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		action.Execute(ssn)
	}
	_, spent := s.cache.devices.SearchBudget().Used()
	if spent > dra.BudgetOfSession {
		t.Errorf("the session spends %d", spent)
	}
	return taskOf(ssn, pod).Status.String()
}

// TestAnHonestPodDoesNotWaitForThoseThatTakeLong: it is the last of 201.
func TestAnHonestPodDoesNotWaitForThoseThatTakeLong(t *testing.T) {
	s := slowCluster(1)
	s.halves(9, 9)
	for i := range 200 {
		s.alone(fmt.Sprintf("j%03d", i), s.puzzled(newPod(fmt.Sprint("p", i), "", cpu(1)), 10))
	}
	s.alone("z", s.asking("gpu", "", newPod("honest", "", cpu(1))))
	t.Cleanup(framework.CleanupPluginBuilders)
	if got := s.statusAfter(t, s.filled(t), "honest"); !strings.Contains("Binding Allocated Bound", got) {
		t.Errorf("the pod is %s", got)
	}
}

// TestAnExpensivePodThatFitsGetsItsTurn behind others that never fit.
func TestAnExpensivePodThatFitsGetsItsTurn(t *testing.T) {
	s := slowCluster(1)
	s.halves(7, 8)
	for i := range 12 {
		s.alone(fmt.Sprintf("j%03d", i), s.puzzled(newPod(fmt.Sprint("p", i), "", cpu(1)), 9))
	}
	s.alone("z", s.puzzled(newPod("fits", "", cpu(1)), 8))
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	for range 20 {
		if got := s.statusAfter(t, scheduler, "fits"); strings.Contains("Binding Allocated Bound", got) {
			return
		}
	}
	t.Error("the pod has no node after 20 sessions")
}
