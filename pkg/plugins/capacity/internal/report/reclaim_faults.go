// SPDX-License-Identifier: Apache-2.0

package report

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/problems"
)

// LogReclaim logs faults of the scheduler's configuration when they change. idle says that the action reclaim runs although
// no queue deserves anything. This is logged only once.
func (r *Reporter) LogReclaim(fault problems.ReclaimFault, idle bool) {
	if fault != r.notifiedReclaimFault && fault.Kind != problems.NoReclaimFault {
		klog.ErrorS(nil, "Queues deserve something, but the scheduler's configuration does not provide for that", "fault", fault.String())
	}
	r.notifiedReclaimFault = fault
	if idle && !r.notifiedReclaimIdle {
		klog.InfoS("The action reclaim has nothing to do, because no queue deserves anything: set deserved of queues, or remove the action")
		r.notifiedReclaimIdle = true
	}
}
