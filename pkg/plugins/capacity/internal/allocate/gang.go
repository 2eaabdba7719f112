// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/joint"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// costOfPick is what it costs to pick devices for some pods, besides the search for them, in units of the search effort.
const costOfPick = 20

// gang is a job whose pods did not get nodes one after another.
type gang struct {
	*Action
	queue *api.QueueInfo
	job   *api.JobInfo
	// subgroups has all of the job, and kinds their waiting pods.
	subgroups []*subgroup
	kinds     []*kind
	looks     []look
	// missing is the number of pods that the job needs to start, and failures has the minimum of each role.
	missing  int
	failures *failures
	// coupled says that what pods get on one node may decide what others get on other nodes.
	coupled bool
	// effort limits the search.
	effort *dra.Effort
	// known has what nodes have room for, by place and by what the pods look like.
	known map[string]bool
	// groups has the pods for each node, and choice their devices. They are nil until they are found.
	groups []placement.Group
	choice devices.Choice
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
	return &gang{Action: a, queue: queue, job: job, effort: effort, known: map[string]bool{}, missing: int(job.MinAvailable - job.ReadyTaskNum() - job.PendingBestEffortTaskNum())}
}

// begin finds the kinds of the waiting pods, and the nodes of some domains that suit them. It returns false if a search would be in vain.
func (g *gang) begin(domains []hypernodes.Domain) bool {
	for _, id := range slices.Sorted(maps.Keys(g.job.SubJobs)) {
		of := newSubgroup(g.job.SubJobs[id])
		g.subgroups = append(g.subgroups, of)
		for tasks := g.waiting(of.SubJobInfo); !tasks.Empty(); {
			task := tasks.Pop().(*api.TaskInfo)
			if alone(&task.Pod.Spec) && g.session.Allocatable(g.queue, task) && g.session.PrePredicateFn(task) == nil {
				g.add(of, task)
			}
		}
	}
	delete(g.Action.failures, g.job.UID) // what failed may have failed because of the pods that had nodes
	g.failures = g.failuresOf(g.job)
	if !g.enough(g.counts()) || len(g.kinds) == 1 && g.placements.Simple(g.kinds[0].tasks[0]) {
		return false
	}
	var within []int
	for _, domain := range domains {
		within = append(within, g.placesIn(domain)...)
	}
	slices.Sort(within)
	within = slices.Compact(within)
	suits := make([]map[int]bool, len(g.looks))
	g.kinds = slices.DeleteFunc(g.kinds, func(k *kind) bool {
		if suits[k.number] == nil {
			suits[k.number] = g.suits(k.tasks[0], within)
		}
		k.suits = suits[k.number]
		return len(k.suits) == 0
	})
	return g.enough(g.counts())
}

// add adds a pod of a subgroup to its kind.
func (g *gang) add(of *subgroup, task *api.TaskInfo) {
	looks := look{role: task.TaskRole, pod: task.UID}
	named := slices.ContainsFunc(task.Pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.ResourceClaimName != nil })
	if signed, ok := g.sign(task); ok && !named { // pods may share a claim
		looks.signed, looks.pod = signed, ""
	}
	g.coupled = g.coupled || named || g.placements.Coupled(task)
	at := slices.IndexFunc(g.kinds, func(k *kind) bool { return k.of == of && k.look == looks })
	if at < 0 {
		number := slices.Index(g.looks, looks)
		if number < 0 {
			number, g.looks = len(g.looks), append(g.looks, looks)
		}
		at, g.kinds = len(g.kinds), append(g.kinds, &kind{look: looks, number: number, of: of})
	}
	g.kinds[at].tasks = append(g.kinds[at].tasks, task)
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
			s.Best(g.changed, len(g.nodes), g.asker(s, task))
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
		if task.InitResreq.LessEqual(node.Idle, api.Zero) && g.effort.Spend(1) && g.filter(task, node) == nil {
			suits[place] = true
		}
	}
	return suits
}

// enough reports whether the job can start with these numbers of its kinds, as Volcano's plugin gang does.
func (g *gang) enough(pods []int) bool {
	sum, roles, ready := 0, map[string]int32{}, map[api.SubJobGID]int32{}
	placed := g.placed(pods)
	for i, kind := range g.kinds {
		if kind.of.starts(placed) {
			sum += pods[i]
			roles[kind.role] += int32(pods[i])
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
	if g.job.MinAvailable < g.job.TaskMinAvailableTotal {
		return true
	}
	for role, least := range g.job.TaskMinAvailable {
		if g.failures.placed[role]+roles[role] < least {
			return false
		}
	}
	return true
}

// spend pays for a part of the search.
func (g *gang) spend(units int) error {
	if !g.effort.Spend(units) {
		return joint.ErrGivenUp
	}
	return nil
}

// fits reports whether the node at a place has room for these numbers of pods.
func (g *gang) fits(place int, pods []int) (bool, error) {
	looks := make([]int, len(g.looks))
	for i, kind := range g.kinds {
		looks[kind.number] += pods[i]
	}
	key := fmt.Sprint(place, looks)
	if known, found := g.known[key]; found {
		return known, nil
	}
	group, sum := placement.Group{Node: g.nodes[place]}, api.EmptyResource()
	for i, kind := range g.kinds {
		for _, task := range kind.tasks[:pods[i]] {
			sum.Add(task.InitResreq)
			group.Tasks = append(group.Tasks, task)
		}
	}
	if !sum.LessEqual(group.Node.Idle, api.Zero) {
		return false, nil
	}
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	_, found := g.placements.PickTogether([]placement.Group{group}, g.effort)
	g.known[key] = found
	return found, nil
}

// accepts reports whether nodes can have these numbers of pods at the same time. Subgroups that do not start have none.
func (g *gang) accepts(places []int, on [][]int) (bool, error) {
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	all := make([]int, len(g.kinds))
	for _, pods := range on {
		for i, n := range pods {
			all[i] += n
		}
	}
	var groups []placement.Group
	placed, dealt := g.placed(all), make([]int, len(g.kinds))
	for node, pods := range on {
		group := placement.Group{Node: g.nodes[places[node]]}
		for i, n := range pods {
			if kind := g.kinds[i]; kind.of.starts(placed) {
				group.Tasks = append(group.Tasks, kind.tasks[dealt[i]:dealt[i]+n]...)
				dealt[i] += n
			}
		}
		if len(group.Tasks) > 0 {
			groups = append(groups, group)
		}
	}
	choice, found := g.placements.PickTogether(groups, g.effort)
	switch {
	case found:
		g.groups, g.choice = groups, choice
		return true, nil
	case !g.coupled && g.missing == len(g.job.TaskStatusIndex[api.Pending]):
		return false, joint.ErrGivenUp // the quota refuses all these pods, wherever they go
	default:
		return false, nil
	}
}

// placesIn returns the places of the nodes of a domain, in order.
func (g *gang) placesIn(domain hypernodes.Domain) []int {
	var in []int
	for name := range domain.Nodes {
		if place, found := g.places[name]; found {
			in = append(in, place)
		}
	}
	if domain.Nodes == nil {
		in = slices.Collect(maps.Values(g.places))
	}
	slices.Sort(in)
	return in
}
