// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Session describes one session.
type Session struct {
	// Snapshot has the ledger of the session, its queues, and its jobs.
	Snapshot *snapshot.Snapshot
	// Report knows what people have been told why jobs and pods wait.
	Report *report.Reporter
	// Promised returns what a pipelined pod is charged in place of its claims.
	Promised func(*api.TaskInfo) ledger.Demand
}
