// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestWhatAdmittedJobsMayChooseCounts: otherwise, too many jobs for the quota are admitted, and their pods wait.
func TestWhatAdmittedJobsMayChooseCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		quota map[string]int64
		// first is the phase of the first of three jobs.
		first scheduling.PodGroupPhase
		want  string
	}{
		{"a job that was admitted before", map[string]int64{h100: 1, "a100": 1}, inqueue, "Inqueue Inqueue Pending"},
		{"jobs that are admitted in this session", map[string]int64{h100: 1, "a100": 1}, pending, "Inqueue Inqueue Pending"},
		{"room for all", map[string]int64{h100: 1, "a100": 2}, inqueue, "Inqueue Inqueue Inqueue"},
		{"room for one", map[string]int64{h100: 0, "a100": 1}, pending, "Inqueue Pending Pending"},
		{"room for none", map[string]int64{h100: 0, "a100": 0}, pending, "Pending Pending Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
			s.withModels("requested", map[string]schedulingv1beta1.DRAQuota{"q": capability(c.quota)}, nil)
			for i, phase := range []scheduling.PodGroupPhase{c.first, pending, pending} {
				name := fmt.Sprint("j", i)
				s.job(name, "q", phase, cpu(1), s.asking(h100, "", newPod(name, "", cpu(1))))
				request := &s.ResourceClaims[i].Spec.Devices.Requests[0]
				for _, class := range []string{h100, "a100"} {
					request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
						Name: class, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
					})
				}
				request.Exactly = nil
			}
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New()})
			if got := fmt.Sprint(phaseOf(ssn, "j0"), " ", phaseOf(ssn, "j1"), " ", phaseOf(ssn, "j2")); got != c.want {
				t.Errorf("the jobs are %s, want %s", got, c.want)
			}
		})
	}
}
