// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// tellAskers publishes what the session knows, if somebody has asked lately. It costs nothing if nobody asks.
func (p *plugin) tellAskers() {
	publisher := p.cache.publisher
	if publisher.HistoryDue() {
		publisher.Record(p.described().Allocated())
	}
	if publisher.Wanted() {
		publisher.Publish(p.published())
	}
}

func (p *plugin) published() *visibility.Published {
	described := p.described()
	holders, charged := described.Holders()
	var stranded []report.Stranded
	if p.cache.stranded != nil {
		stranded = p.cache.stranded.found
	}
	return &visibility.Published{
		Snapshot: p.sessionInfo(), Queues: described.Queues(), Workloads: described.Workloads(charged, stranded), Holders: holders,
	}
}

// described says what the session knows in the types of the visibility API.
func (p *plugin) described() *describe.Session {
	if p.describes == nil {
		p.describes = &describe.Session{Snapshot: p.snapshot, Report: p.cache.report, Promised: p.promisedTo}
	}
	return p.describes
}

// promisedTo returns what a pipelined pod is charged in place of its claims.
func (p *plugin) promisedTo(task *api.TaskInfo) ledger.Demand {
	if placement := p.existingPlacement(task); placement != nil {
		return placement.pipelined
	}
	return nil
}

// sessionInfo says which session the answers are from.
func (p *plugin) sessionInfo() v1alpha1.Snapshot {
	info := v1alpha1.Snapshot{Time: metav1.NewMicroTime(p.cache.clock.Now()), Session: string(p.session.UID)}
	if missing := p.notReady(); missing != nil {
		info.Incomplete = missing.Message()
	}
	return info
}
