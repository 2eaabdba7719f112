// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// MaxHolders bounds how many holders an explanation names.
const MaxHolders = 100

// HoldersOfMissing returns the holders of what a pod lacks: in the queue that refuses it or, if nodes lack devices or cards, anywhere. The
// pod is nil if it does not exist yet.
func HoldersOfMissing(s *describe.Session, task *api.TaskInfo, cause report.Refusal) []v1alpha1.Holder {
	if refused := report.RefusedByQuota(cause); refused != nil {
		queue, found := s.Snapshot.Ledger.Queue(refused.Queue)
		if !found {
			return nil
		}
		return s.HoldersOf(refusedDimensions(s.Snapshot, refused), &queue, MaxHolders)
	}
	if task == nil {
		return nil
	}
	return s.HoldersOf(devicesAndCards(s.Snapshot, task), nil, MaxHolders)
}

// refusedDimensions returns the dimensions that a quota refuses.
func refusedDimensions(s *snapshot.Snapshot, refused *ledger.Refusal) []ledger.Ordinal {
	var missing []ledger.Ordinal
	for _, name := range strings.Split(refused.Dimension.Name, "|") { // a refusal of several cards names them all
		dimension := refused.Dimension
		dimension.Name = name
		if o, known := s.Dimensions.Known(dimension); known {
			missing = append(missing, o)
		}
	}
	return missing
}

// devicesAndCards returns the devices and cards that a pod asks for, including those of its alternatives.
func devicesAndCards(s *snapshot.Snapshot, task *api.TaskInfo) []ledger.Ordinal {
	pod := s.Known(task.Pod)
	if pod == nil {
		return nil
	}
	var asked []ledger.Ordinal
	for _, part := range s.Asked(pod) {
		for _, amounts := range append(part.Alternatives(), part.Amounts()) {
			for _, e := range amounts {
				if s.Dimensions.Dimension(e.Dimension).Kind != ledger.Resource && e.Amount.Sign() > 0 {
					asked = append(asked, e.Dimension)
				}
			}
		}
	}
	return asked
}
