// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

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
	kinds []*kind
	byKey map[kindKey]*kind
	// candidates has the places of the nodes of a domain that suit some of the pods.
	candidates []int
	// missing is the number of pods that the job needs to start, and failures has the minimum of each role.
	missing  int
	failures *failures
	// coupled says that what pods get on one node may decide what others get on other nodes.
	coupled bool
	// elsewhere says that the quota may refuse pods on some nodes and not on others. refused says that it has refused some.
	elsewhere, refused bool
	// effort limits the search.
	effort *dra.Effort
	// groups has the pods for each node, and choice their devices. They are nil until they are found.
	groups []placement.Group
	choice devices.Choice
}

// kind has the waiting pods of a job with the same role to which each node gives the same answer.
type kind struct {
	key   kindKey
	tasks []*api.TaskInfo
	// suits says which nodes have room for one of the pods.
	suits map[int]bool
}

type kindKey struct {
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
		Action: a, queue: queue, job: job, byKey: map[kindKey]*kind{}, effort: effort,
		missing: int(job.MinAvailable - job.ReadyTaskNum() - job.PendingBestEffortTaskNum()),
	}
}

// begin finds the kinds of the waiting pods, and the nodes of some domains that suit them. It returns false if a search would be in vain.
func (g *gang) begin(subJob *api.SubJobInfo, domains []hypernodes.Domain) bool {
	for tasks := g.waiting(subJob); !tasks.Empty(); {
		task := tasks.Pop().(*api.TaskInfo)
		if !alone(&task.Pod.Spec) || !g.session.Allocatable(g.queue, task) {
			continue
		}
		if !g.effort.Spend(costOfPod) {
			return false
		}
		if g.session.PrePredicateFn(task) == nil {
			g.add(task)
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
	return g.suited(within)
}

// suited keeps the kinds that some node suits. It returns false once those that no node suits are needed: all pods of a gang may differ, and each may ask all
// nodes.
func (g *gang) suited(within []int) bool {
	counts := g.counts()
	for i, k := range g.kinds {
		if k.suits = g.suits(k.tasks[0], within); len(k.suits) > 0 {
			continue
		}
		if counts[i] = 0; !g.enough(counts) {
			return false
		}
	}
	g.kinds = slices.DeleteFunc(g.kinds, func(k *kind) bool { return len(k.suits) == 0 })
	return true
}

// add adds a pod to its kind.
func (g *gang) add(task *api.TaskInfo) {
	key := kindKey{role: task.TaskRole, pod: task.UID}
	named := slices.ContainsFunc(task.Pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.ResourceClaimName != nil })
	if signed, ok := g.sign(task); ok && !named { // pods may share a claim
		key.signed, key.pod = signed, ""
	}
	g.coupled, g.elsewhere = g.coupled || named || g.placements.Coupled(task), g.elsewhere || g.placements.ChoosesCards(task)
	known := g.byKey[key]
	if known == nil {
		known = &kind{key: key}
		g.byKey[key], g.kinds = known, append(g.kinds, known)
	}
	known.tasks = append(known.tasks, task)
}

// counts returns the number of pods of each kind.
func (g *gang) counts() []int {
	counts := make([]int, len(g.kinds))
	for i, kind := range g.kinds {
		counts[i] = len(kind.tasks)
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
	sum, roles := 0, map[string]int32{}
	for i, kind := range g.kinds {
		sum += pods[i]
		roles[kind.key.role] += int32(pods[i])
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
	if units > 0 && !g.effort.Spend(units) {
		return joint.ErrGivenUp
	}
	return nil
}

// fits reports whether a node has room for these numbers of pods.
func (g *gang) fits(node int, pods []int) (bool, error) {
	group := placement.Group{Node: g.nodes[g.candidates[node]]}
	sum, requests := api.EmptyResource(), 0
	for i, kind := range g.kinds {
		if pods[i] > 0 && !kind.suits[g.candidates[node]] {
			return false, nil
		}
		for _, task := range kind.tasks[:pods[i]] {
			sum.Add(task.InitResreq)
			requests += 2 + len(task.InitResreq.ScalarResources)
			group.Tasks = append(group.Tasks, task)
		}
	}
	if err := g.spend(requests / requestsOfUnit); err != nil {
		return false, err
	}
	if !sum.LessEqual(group.Node.Idle, api.Zero) {
		return false, nil
	}
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	_, found := g.placements.PickTogether([]placement.Group{group}, g.effort)
	return found, nil
}

// accepts reports whether all nodes can have their pods at the same time.
func (g *gang) accepts(on [][]int) (bool, error) {
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	var groups []placement.Group
	dealt := make([]int, len(g.kinds))
	for node, pods := range on {
		group := placement.Group{Node: g.nodes[g.candidates[node]]}
		for i, n := range pods {
			group.Tasks = append(group.Tasks, g.kinds[i].tasks[dealt[i]:dealt[i]+n]...)
			dealt[i] += n
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
	case !g.coupled && !g.elsewhere && g.missing == len(g.job.TaskStatusIndex[api.Pending]):
		return false, joint.ErrGivenUp // the quota refuses all these pods, wherever they go
	default:
		g.refused = true
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

// search reports whether it has found nodes and devices in a domain.
func (g *gang) search(domain hypernodes.Domain) bool {
	g.candidates = slices.DeleteFunc(g.placesIn(domain), func(place int) bool {
		return !slices.ContainsFunc(g.kinds, func(k *kind) bool { return k.suits[place] })
	})
	g.refused = false
	search := joint.Search{
		Nodes: len(g.candidates), Pods: g.counts(), Coupled: g.coupled,
		Fits: g.fits, Enough: g.enough, Accepts: g.accepts, Step: g.spend,
	}
	found, err := search.Run()
	if !found && err == nil && g.refused && !g.coupled { // fewer pods than fit on a node, or others, may be within the quota
		search.Coupled = true
		found, err = search.Run()
	}
	klog.V(3).InfoS("Looked for nodes for all pods of a job together", "job", g.job.UID, "hyperNode", domain.Name, "found", found, "err", err)
	return found
}
