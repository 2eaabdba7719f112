// SPDX-License-Identifier: Apache-2.0

package nomination

import (
	"fmt"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// TestEachJobMayTryAllNodesInTheEnd: no session tries them for all jobs.
func TestEachJobMayTryAllNodesInTheEnd(t *testing.T) {
	const jobs, sessions = 20, 100
	for _, nodes := range []int{100, 5000, 15_000} {
		cache, searches, most := NewCache(), map[int]int{}, 0
		for range sessions {
			s := &Session{Volcano: &framework.Session{NodeList: make([]*api.NodeInfo, nodes)}, Cache: cache}
			s.begin()
			pods := 0
			for i := range jobs { // oldest first
				g := &gang{Session: s, job: &api.JobInfo{UID: api.JobID(fmt.Sprint(i))}, tasks: make([]*api.TaskInfo, maxSearched)}
				first := g.maySearch()
				if first != g.maySearch() {
					t.Fatal("the pods of one job are told different things")
				}
				if first {
					searches[i]++
					pods += len(g.tasks)
				}
			}
			s.end()
			most = max(most, pods)
		}
		for i := range jobs {
			if searches[i] < sessions/jobs/2 {
				t.Errorf("%d nodes: job %d may search in %d of %d sessions", nodes, i, searches[i], sessions)
			}
		}
		if most*nodes > max(maxSearchedNodes, 4*maxSearched*nodes) {
			t.Errorf("%d nodes: %d pods try all nodes in a session", nodes, most)
		}
	}
}
