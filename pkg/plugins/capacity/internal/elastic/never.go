// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// StartsNever reports whether a job without victims could not start even if all other pods were gone: too few of its pods suit any node.
// PrePredicate of its pods must have run.
func (s *Session) StartsNever(job *api.JobInfo) bool {
	pending := job.TaskStatusIndex[api.Pending]
	if eviction.IsPipelined(s.Volcano, job) {
		return false // no minimum is missing
	}
	may := int(job.MinAvailable) - (len(job.Tasks) - len(pending))
	kinds := map[[32]byte]bool{}
	for _, task := range pending {
		if may <= 0 {
			return false
		}
		if !s.Placements.StartsNowhere(task, kinds) {
			may--
		}
	}
	return may > 0
}
