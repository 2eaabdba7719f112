// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
)

// largeEnough returns the domains that could have what a job lacks of its minimum if they were empty. To try the others may take long.
func (a *preemptor) largeEnough(domains []hypernodes.Domain) []hypernodes.Domain {
	for class, needed := range a.leastDevices() {
		if most := a.MostDevices(class); most > 0 { // else nobody knows
			domains = slices.DeleteFunc(domains, func(d hypernodes.Domain) bool { return ledger.Units(int64(d.Nodes.Len())*most).Cmp(needed) < 0 })
		}
	}
	return domains
}

// leastDevices returns the least numbers of devices, by class, that those pods must get that a job lacks of its minimum.
func (a *preemptor) leastDevices() map[string]ledger.Amount {
	waiting := a.job.TaskStatusIndex[api.Pending]
	lacks := min(int(a.job.MinAvailable-a.job.ReadyTaskNum()-a.job.WaitingTaskNum()), len(waiting))
	asked := map[string][]ledger.Amount{}
	for _, task := range waiting {
		for class, n := range a.ownDevices(task) {
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
func (a *preemptor) ownDevices(task *api.TaskInfo) map[string]ledger.Amount {
	pod := a.Snapshot.Known(task.Pod)
	if pod == nil {
		return nil
	}
	own := map[string]ledger.Amount{}
	for _, claim := range pod.Claims {
		if claim.Part == nil || claim.Object.Status.Allocation != nil || !metav1.IsControlledBy(claim.Object, task.Pod) {
			continue
		}
		for _, e := range claim.Part.Amounts() {
			d := a.Snapshot.Dimensions.Dimension(e.Dimension)
			if sum, err := own[d.Name].Add(e.Amount); d.Kind == ledger.DeviceCount && err == nil {
				own[d.Name] = sum
			}
		}
	}
	return own
}
