// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/joint"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// costOfPick is what it costs to pick devices for some pods, besides the search for them, in units of the search effort.
const costOfPick = 20

// costOfPod is what it costs to find out what a pod asks for, costOfAnswer to ask a node about a pod, and requestsOfUnit the number of requests that are added up for
// a unit.
const costOfPod, costOfAnswer, requestsOfUnit = 5, 2, 32

// gang is a job whose pods did not get nodes one after another.
type gang struct {
	*Action
	queue *api.QueueInfo
	job   *api.JobInfo
	// subgroups has all of the job, and kinds their waiting pods.
	subgroups []*subgroup
	kinds     []*kind
	byKey     map[kindKey]*kind
	// looks has the numbers of looks.
	looks map[look]int
	// missing is the number of pods that the job needs to start, and roles has those that need pods for it, with their numbers.
	missing int
	roles   map[string]int
	// coupled says that what pods get on one node may decide what others get on other nodes.
	coupled bool
	// elsewhere says that the quota may refuse pods on some nodes and not on others. refused says that it has refused some.
	elsewhere, refused bool
	// effort limits the search.
	effort *dra.Effort
	// known has what nodes have room for, by place and by what the pods look like.
	known map[string]bool
	// groups has the pods for each node, and choice their devices. They are nil until they are found.
	groups []placement.Group
	choice devices.Choice
}

type kindKey struct {
	of *subgroup
	look
}

// kind has the waiting pods of a subgroup with the same role to which each node gives the same answer.
type kind struct {
	look
	// number is the place of the look among those of the gang.
	number int
	of     *subgroup
	tasks  []*api.TaskInfo
	// suits says which nodes have room for one of the pods.
	suits map[int]bool
}

// look is what pods of a kind have in common. Other subgroups may have such pods, too.
type look struct {
	role string
	// signed is zero for a pod that is alone in its kind.
	signed signature
	pod    api.TaskID
}

// gangOf returns a job whose pods can be searched together, or nil.
func (a *Action) gangOf(queue *api.QueueInfo, job *api.JobInfo) *gang {
	effort := a.placements.EffortTogether(queue.Name, job.UID)
	if effort == nil || !a.filters {
		return nil
	}
	return &gang{
		Action: a, queue: queue, job: job, byKey: map[kindKey]*kind{}, looks: map[look]int{}, effort: effort, known: map[string]bool{},
		missing: int(job.MinAvailable - job.ReadyTaskNum() - job.PendingBestEffortTaskNum()),
	}
}

// begin finds the kinds of the waiting pods, and the nodes of some domains that suit them. It returns false if a search would be in vain.
func (g *gang) begin(domains []hypernodes.Domain) bool {
	for _, id := range slices.Sorted(maps.Keys(g.job.SubJobs)) {
		of := newSubgroup(g.job.SubJobs[id])
		g.subgroups = append(g.subgroups, of)
		if !g.addAll(of) {
			return false
		}
	}
	delete(g.failures, g.job.UID) // what failed may have failed because of the pods that had nodes
	g.roles = g.failuresOf(g.job).missing()
	if !g.enough(g.counts()) || len(g.kinds) == 1 && g.placements.Simple(g.kinds[0].tasks[0]) {
		return false
	}
	var within []int
	for _, domain := range domains {
		within = append(within, g.placesIn(domain)...)
	}
	slices.Sort(within)
	within = slices.Compact(within)
	return g.suited(within)
}

// suited keeps the kinds that some node suits. It returns false once those that no node suits are needed: all pods of a gang may differ, and each may ask all
// nodes. With thousands of kinds, to look at all of them for each kind takes seconds: whether they are needed is asked when their number has doubled.
func (g *gang) suited(within []int) bool {
	counts, suits, nowhere, next := g.counts(), make([]map[int]bool, len(g.looks)), 0, 1
	for i, k := range g.kinds {
		if suits[k.number] == nil {
			suits[k.number] = g.suits(k.tasks[0], within)
		}
		if k.suits = suits[k.number]; len(k.suits) > 0 {
			continue
		}
		counts[i] = 0
		if nowhere++; nowhere < next {
			continue
		}
		if next *= 2; !g.enough(counts) {
			return false
		}
	}
	g.kinds = slices.DeleteFunc(g.kinds, func(k *kind) bool { return len(k.suits) == 0 })
	return g.enough(g.counts())
}

// addAll adds the waiting pods of a subgroup. It returns false if that takes too long.
func (g *gang) addAll(of *subgroup) bool {
	for tasks := g.waiting(of.SubJobInfo); !tasks.Empty(); {
		task := tasks.Pop().(*api.TaskInfo)
		if !alone(&task.Pod.Spec) || !g.session.Allocatable(g.queue, task) {
			continue
		}
		if !g.effort.Spend(costOfPod) {
			return false
		}
		if g.session.PrePredicateFn(task) == nil {
			g.add(of, task)
		}
	}
	return true
}

// add adds a pod of a subgroup to its kind.
func (g *gang) add(of *subgroup, task *api.TaskInfo) {
	looks := look{role: task.TaskRole, pod: task.UID}
	named := namesClaim(&task.Pod.Spec)
	if signed, ok := g.sign(task); ok && !named {
		looks.signed, looks.pod = signed, ""
	}
	g.coupled, g.elsewhere = g.coupled || named || g.placements.Coupled(task), g.elsewhere || g.placements.ChoosesCards(task)
	key := kindKey{of, looks}
	known := g.byKey[key]
	if known == nil {
		number, seen := g.looks[looks]
		if !seen {
			number = len(g.looks)
			g.looks[looks] = number
		}
		known = &kind{look: looks, number: number, of: of}
		g.byKey[key], g.kinds = known, append(g.kinds, known)
	}
	known.tasks = append(known.tasks, task)
}

// counts returns the number of pods of each kind, without the subgroups that are left out.
func (g *gang) counts() []int {
	counts := make([]int, len(g.kinds))
	for i, kind := range g.kinds {
		if !kind.of.out {
			counts[i] = len(kind.tasks)
		}
	}
	return counts
}

// suits returns those of some nodes that have room for a pod, and may return others.
func (g *gang) suits(task *api.TaskInfo, within []int) map[int]bool {
	suits := map[int]bool{}
	if signed, ok := g.sign(task); ok && g.shares {
		if s := g.rankings.of(signed, len(g.nodes)); !s.exhausted {
			before := s.Asked()
			if !g.effort.Spend(1 + costOfAnswer*(len(g.nodes)-before)) {
				return nil
			}
			s.Best(g.changed, len(g.nodes), g.asker(s, task))
			g.rankings.answers += s.Asked() - before
			for place, said := range s.Each {
				if said.Refusal == nil && !said.Later {
					suits[place] = true
				}
			}
			return suits
		}
	}
	for _, place := range within {
		node := g.nodes[place]
		if task.InitResreq.LessEqual(node.Idle, api.Zero) && g.effort.Spend(costOfAnswer) && g.filter(task, node) == nil {
			suits[place] = true
		}
	}
	return suits
}

// enough reports whether the job can start with these numbers of its kinds, as Volcano's plugin gang does.
func (g *gang) enough(pods []int) bool {
	sum, roles, ready := 0, map[string]int{}, map[api.SubJobGID]int32{}
	placed := g.placed(pods)
	for i, kind := range g.kinds {
		if kind.of.starts(placed) {
			sum += pods[i]
			roles[kind.role] += pods[i]
		}
	}
	for _, of := range g.subgroups {
		if of.starts(placed) {
			ready[of.GID]++
		}
	}
	for policy, least := range g.job.MinSubJobs {
		if ready[policy] < least {
			return false
		}
	}
	if sum < g.missing {
		return false
	}
	for role, least := range g.roles {
		if roles[role] < least {
			return false
		}
	}
	return true
}

// spend pays for a part of the search.
func (g *gang) spend(units int) error {
	if units > 0 && !g.effort.Spend(units) {
		return joint.ErrGivenUp
	}
	return nil
}
