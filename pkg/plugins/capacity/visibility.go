// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"time"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// errNotUsed is the answer of a scheduler whose configuration lacks this plugin.
var errNotUsed = errors.New("the scheduler's configuration does not have the plugin " + Name)

// Answer answers pending questions with the checks and the ledger of a session. Call it after the actions of the session and
// before the session is closed: closed plugins cannot be asked.
func (p *Plugins) Answer(ssn *framework.Session) {
	opened := p.cache.opened
	if opened == nil || opened.session != ssn {
		p.cache.publisher.AnswerQuestions(func(*visibility.Question) (*v1alpha1.Explanation, error) { return nil, errNotUsed })
		return
	}
	opened.elastic.RefuseUnplaced() // an answer filters nodes again
	if opened.devices != nil {
		opened.devices.BeginAnswers()
	}
	p.cache.publisher.AnswerQuestions(opened.explainer().Answer)
}

func (p *plugin) explainer() *explain.Session {
	return &explain.Session{
		Volcano: p.session, Snapshot: p.snapshot, Checks: p.checks, Placements: p.placements, Elastic: p.elastic, Report: p.cache.report,
		Described: p.described(), Pods: p.pods, VolcanoJobs: p.cache.jobs, Outsiders: p.cache.outsiders,
	}
}

// tellAskers publishes what the session knows, if a user has asked recently. Now and then, it records the history and what the cluster has.
func (p *plugin) tellAskers() {
	publisher := p.cache.publisher
	if publisher.HistoryDue() {
		publisher.Record(p.described().Allocated())
	}
	p.totals(measuredAge)
	if publisher.Wanted() {
		published := p.described().Published()
		published.Cluster = p.totals(shownAge)
		publisher.Publish(published)
	}
}

// The totals of the cluster are no older than these times, in metrics and where they are shown. Devices are looked for in all classes.
const measuredAge, shownAge = 15 * time.Second, 5 * time.Second

func (p *plugin) totals(age time.Duration) []v1alpha1.Total {
	cluster := &p.cache.cluster
	if p.described().Count(cluster, age) {
		p.cache.report.Totals(cluster.Totals)
	}
	return cluster.Totals
}

// described returns the description of the session in the types of the visibility API.
func (p *plugin) described() *describe.Session {
	described := &describe.Session{
		Snapshot: p.snapshot, Report: p.cache.report, Promised: p.placements.Promised, Time: p.cache.clock.Now(), ID: p.session.UID, Outsiders: p.cache.outsiders,
		Places: describe.Places{Nodes: p.session.NodeList, Fleet: p.cards.Fleet},
	}
	if p.placements.Devices != nil {
		described.Places.Devices = p.placements.Devices.Supplies
	}
	if missing := p.checks.NotReady(); missing != nil {
		described.Incomplete = missing.Message()
	}
	return described
}
