// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

var _ framework.BindContextHandler = &plugin{}

// SetupBindContextExtension implements framework.BindContextHandler. Volcano calls it after it has decided to bind the pod.
func (p *plugin) SetupBindContextExtension(_ *k8sframework.CycleState, bind *schedulercache.BindContext) {
	if p.session == nil || !p.placements.Bind(bind) { // the session may have the plugin under its other name
		return
	}
	if action, at, evicted := p.cache.nominations.Started(bind.TaskInfo.Pod.UID); evicted {
		p.cache.report.Started(action, at)
	}
}

func (p *plugin) binder() placement.Binder {
	binder := placement.Binder{Snapshots: p.cache.snapshots, Recorder: p.cache.report.Recorder, Timeout: p.arguments.BindingTimeout, Failures: p.cache.failed}
	if p.devices != nil {
		binder.Devices = p.devices.Cache
	}
	return binder
}
