// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"iter"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// groups leaves jobs with a network topology or with groups of pods to upstream's action, one at a time and turn by turn. A user who has one of them does not
// keep the pods of all others from sharing answers.
type groups struct {
	upstream framework.Action
	jobs     map[api.JobID]*turns
	// current is the job whose turn it is. It is nil if it is no such job's turn.
	current *turns
}

// turns are those of one job. Next begins one, and reports whether there may be more. Pause ends one, and reports whether there will be more.
type turns struct {
	begun bool
	next  func() (struct{}, bool)
	stop  func()
	pause func(struct{}) bool
	// inVain says which groups need not be tried in the turn.
	inVain *inVain
}

// ofGroups reports whether upstream's action places the pods of a job.
func ofGroups(job *api.JobInfo) bool {
	return job.ContainsNetworkTopology() || job.ContainsSubJobPolicy()
}

// run gives a job a turn, in which upstream's action sees no other job. It reports whether there may be more turns. remembersErrors says that upstream's
// action asks a node once for all pods with the same role.
func (g *groups) run(a *Action, job *api.JobInfo, remembersErrors bool) (more bool) {
	session := a.session
	jobs, configurations := session.Jobs, session.Configurations
	session.Jobs, g.current = map[api.JobID]*api.JobInfo{job.UID: job}, g.of(session, job.UID)
	session.Configurations = append([]conf.Configuration{{Name: "allocate", Arguments: map[string]any{conf.EnablePredicateErrCacheKey: remembersErrors}}}, configurations...)
	g.current.inVain = &inVain{Action: a, job: job}
	_, more = g.current.next()
	session.Jobs, session.Configurations, g.current = jobs, configurations, nil
	return more
}

// begin makes upstream's action begin with a job again, in its next turn.
func (g *groups) begin(job api.JobID) {
	g.jobs[job].stop()
	delete(g.jobs, job)
}

func (g *groups) of(session *framework.Session, job api.JobID) *turns {
	if known := g.jobs[job]; known != nil {
		return known
	}
	t := &turns{}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.pause = yield
		g.upstream.Execute(session)
	})
	g.jobs[job] = t
	return t
}

// overused is Volcano's OverusedFn. Upstream's action asks before each turn of a job.
func (g *groups) overused(any) bool {
	t := g.current
	if t == nil {
		return false
	}
	if !t.begun {
		t.begun = true
		return false
	}
	return !t.pause(struct{}{})
}

// end ends the turns of all jobs.
func (g *groups) end() {
	for _, t := range g.jobs {
		t.stop()
	}
}
