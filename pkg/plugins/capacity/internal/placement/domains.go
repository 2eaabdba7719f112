// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Gradients is Volcano's HyperNodeGradientForJobFn: the HyperNodes in which the action allocate tries to place a job, in their order. They are those of the
// other plugin that has such a function, without those that are too small. To try one takes as long as to place all pods that it can have. All nodes together
// are never too small: if they are not tried, nobody says why the job waits.
func (s *Session) Gradients(job *api.JobInfo, within *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
	gradients := hypernodes.GradientsWithout(s.Volcano, s.Owner, job, within)
	tooSmall := s.tooSmall(job)
	for i, tier := range gradients {
		gradients[i] = slices.DeleteFunc(tier, func(h *api.HyperNodeInfo) bool {
			return h.Name != framework.ClusterTopHyperNode && tooSmall(len(s.Volcano.RealNodesList[h.Name]))
		})
	}
	return gradients
}

// LargeEnough returns the domains that are not too small for a job.
func (s *Session) LargeEnough(job *api.JobInfo, domains []hypernodes.Domain) []hypernodes.Domain {
	tooSmall := s.tooSmall(job)
	return slices.DeleteFunc(domains, func(d hypernodes.Domain) bool { return d.Nodes != nil && tooSmall(d.Nodes.Len()) })
}

// NeverTogether refuses a job with a network topology if all HyperNodes that it may use are too small for it.
func (s *Session) NeverTogether(job *api.JobInfo) report.Refusal {
	if !job.ContainsNetworkTopology() || job.IsPending() || !hypernodes.Known(s.Volcano, job) {
		return nil
	}
	largest := 0
	for _, domain := range hypernodes.Domains(s.Volcano, job) {
		if largest = max(largest, domain.Nodes.Len()); domain.Nodes == nil {
			return nil
		}
	}
	class, needed, most := s.tooMany(s.leastDevices(job), largest)
	if class == "" {
		return nil
	}
	return report.NeverFits{NoNode: fmt.Sprintf("No HyperNode that the job may use has as many devices of <%s> as its pods need together, <%s>: the largest has <%d> nodes, and no node has more than <%d>", class, needed, largest, most)}
}

// tooSmall returns a function that reports whether so many nodes could not have what a job lacks of its minimum even if nobody used them.
func (s *Session) tooSmall(job *api.JobInfo) func(nodes int) bool {
	least := s.leastDevices(job)
	return func(nodes int) bool {
		class, _, _ := s.tooMany(least, nodes)
		return class != ""
	}
}

// tooMany returns the first class of which some nodes together cannot have as many devices as are needed, and the most that one node has. It returns no class
// if they can, or nobody knows.
func (s *Session) tooMany(needed map[string]ledger.Amount, nodes int) (class string, number ledger.Amount, most int64) {
	if s.Devices == nil {
		return "", number, 0
	}
	for _, class := range slices.Sorted(maps.Keys(needed)) {
		if most := s.Devices.MostOnNode(class); most > 0 && ledger.Units(int64(nodes)*most).Cmp(needed[class]) < 0 {
			return class, needed[class], most
		}
	}
	return "", number, 0
}

// leastDevices returns the least numbers of devices, by class, that those pods must get that a job lacks of its minimum.
func (s *Session) leastDevices(job *api.JobInfo) map[string]ledger.Amount {
	waiting := job.TaskStatusIndex[api.Pending]
	lacks := min(int(job.MinAvailable-job.ReadyTaskNum()-job.WaitingTaskNum()), len(waiting))
	asked := map[string][]ledger.Amount{}
	for _, task := range waiting {
		for class, n := range s.ownDevices(task) {
			asked[class] = append(asked[class], n)
		}
	}
	least := map[string]ledger.Amount{}
	for class, numbers := range asked {
		slices.SortFunc(numbers, ledger.Amount.Cmp)
		for _, n := range numbers[:max(0, lacks-(len(waiting)-len(numbers)))] { // the others may start without any
			if sum, err := least[class].Add(n); err == nil {
				least[class] = sum
			}
		}
	}
	return least
}

// ownDevices returns the least numbers of devices that a pod must get for claims that it does not share.
func (s *Session) ownDevices(task *api.TaskInfo) map[string]ledger.Amount {
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil {
		return nil
	}
	own := map[string]ledger.Amount{}
	for _, claim := range pod.Claims {
		if claim.Part == nil || claim.Object.Status.Allocation != nil || !metav1.IsControlledBy(claim.Object, task.Pod) {
			continue
		}
		for _, e := range claim.Part.Amounts() {
			d := s.Snapshot.Dimensions.Dimension(e.Dimension)
			if sum, err := own[d.Name].Add(e.Amount); d.Kind == ledger.DeviceCount && err == nil {
				own[d.Name] = sum
			}
		}
	}
	return own
}
