// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/settings"
)

// randomModel returns a small random cluster.
func randomModel(r *rand.Rand) *model {
	m := &model{budget: infinite, wholeGangs: r.IntN(2) == 0}
	for range 1 + r.IntN(3) {
		m.nodes = append(m.nodes, modelNode{cores: 2 + r.IntN(6), devices: r.IntN(5)})
	}
	m.addQueues(r)
	leaves := m.leaves()
	for attempts := 0; len(m.pods) < 2+r.IntN(7) && attempts < 60; attempts++ {
		m.addJob(r, leaves[r.IntN(len(leaves))])
	}
	if r.IntN(4) == 0 {
		m.budget = r.IntN(3)
		for i := range m.pods {
			m.pods[i].budgeted = r.IntN(2) == 0
		}
	}
	m.asking = modelJob{queue: leaves[r.IntN(len(leaves))], priority: r.IntN(4)}
	for range 1 + max(0, r.IntN(5)-2) {
		m.asks = append(m.asks, modelAsk{[modelDimensions]int{device: r.IntN(3), core: 1 + r.IntN(2)}})
	}
	m.asks[0].needs[device] = max(1, m.asks[0].needs[device])
	m.asking.minimum = len(m.asks)
	return m
}

func maybe(r *rand.Rand, oneIn, below int) int {
	if r.IntN(oneIn) > 0 {
		return -1
	}
	return r.IntN(below)
}

// addQueues adds root and up to four leaves, below root or below up to two queues there.
func (m *model) addQueues(r *rand.Rand) {
	unlisted := [modelDimensions]int{-1, -1}
	m.queues = []modelQueue{{name: "root", parent: -1, deserved: unlisted, guarantee: unlisted, capability: unlisted}}
	orgs := r.IntN(3)
	for i := range orgs + 2 + r.IntN(3) {
		q := modelQueue{name: fmt.Sprint("q", i), deserved: [modelDimensions]int{r.IntN(5) - 1, -1}, guarantee: [modelDimensions]int{maybe(r, 5, 3), -1}, capability: [modelDimensions]int{maybe(r, 4, 5), -1}}
		if i >= orgs {
			q.parent = r.IntN(orgs + 1)
		}
		if r.IntN(5) == 0 {
			q.deserved[core] = 1 + r.IntN(5)
		}
		if r.IntN(8) == 0 {
			q.capability[core] = 2 + r.IntN(5)
		}
		for d := range modelDimensions {
			if c := q.capability[d]; c >= 0 {
				q.deserved[d], q.guarantee[d] = min(q.deserved[d], c), min(q.guarantee[d], c)
			}
			if q.deserved[d] >= 0 {
				q.guarantee[d] = min(q.deserved[d], q.guarantee[d])
			}
		}
		q.irreclaimable = r.IntN(10) == 0
		m.queues = append(m.queues, q)
	}
}

func (m *model) leaves() (all []int) {
	for i := range m.queues {
		if i > 0 && len(m.children(i)) == 0 {
			all = append(all, i)
		}
	}
	return all
}

func (m *model) addJob(r *rand.Rand, queue int) {
	n := 1
	if r.IntN(3) == 0 {
		n = 2 + r.IntN(2)
	}
	m.jobs = append(m.jobs, modelJob{queue: queue, minimum: max(1, n-r.IntN(2)), priority: r.IntN(3)})
	before := len(m.pods)
	for range n {
		m.addPod(r)
	}
	job := &m.jobs[len(m.jobs)-1]
	switch placed := len(m.pods) - before; {
	case placed == 0:
		m.jobs = m.jobs[:len(m.jobs)-1]
	default:
		job.minimum = min(job.minimum, placed)
	}
}

func (m *model) addPod(r *rand.Rand) {
	pod := modelPod{job: len(m.jobs) - 1, node: r.IntN(len(m.nodes)), cores: 1 + r.IntN(2), claim: -1, created: r.IntN(3),
		protected: r.IntN(10) == 0, leaving: r.IntN(12) == 0}
	if len(m.pods) >= 8 || m.present(pod.node)[core]+pod.cores > m.nodes[pod.node].cores {
		return
	}
	if last := len(m.pods) - 1; last >= 0 && r.IntN(6) == 0 && m.pods[last].node == pod.node && m.jobs[m.pods[last].job].queue == m.jobs[pod.job].queue && m.pods[last].claim >= 0 {
		pod.claim = m.pods[last].claim
	} else if n := []int{0, 1, 1, 2, 2}[r.IntN(5)]; n > 0 && m.present(pod.node)[device]+n <= m.nodes[pod.node].devices {
		pod.claim = len(m.claims)
		m.claims = append(m.claims, modelClaim{m.present(pod.node)[device], n})
	}
	m.pods = append(m.pods, pod)
}

// present returns what pods on a node have, including leaving pods.
func (m *model) present(node int) (sum [modelDimensions]int) {
	claims := map[int]bool{}
	for _, pod := range m.pods {
		if pod.node != node {
			continue
		}
		sum[core] += pod.cores
		if pod.claim >= 0 && !claims[pod.claim] {
			claims[pod.claim] = true
			sum[device] += m.claims[pod.claim].devices
		}
	}
	return sum
}

func (p *modelPod) name(i int) string { return fmt.Sprintf("j%d-p%d", p.job, i) }

// fixture returns the cluster of a model. It adds objects in random order.
func (m *model) fixture(r *rand.Rand) *fixture {
	var cores []int
	for _, node := range m.nodes {
		cores = append(cores, node.cores)
	}
	s := newFixture(cores...)
	quotas := map[string]schedulingv1beta1.DRAQuota{}
	for i := range m.queues {
		m.addQueue(s, &m.queues[i], quotas)
	}
	s.withDevices(quotas)
	s.arguments = framework.Arguments{settings.ReclaimGangs: m.wholeGangs}
	for i, node := range m.nodes {
		s.stocked(node.devices)
		slice := s.ResourceSlices[len(s.ResourceSlices)-1]
		name := fmt.Sprint("n", i+1)
		slice.Name, slice.Spec.NodeName, slice.Spec.Pool.Name = name, &name, name
		m.slices(s, i, slice)
	}
	m.addPods(s)
	r.Shuffle(len(s.PodGroups), func(i, j int) { s.PodGroups[i], s.PodGroups[j] = s.PodGroups[j], s.PodGroups[i] })
	r.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	return s
}

func (m *model) addQueue(s *fixture, q *modelQueue, quotas map[string]schedulingv1beta1.DRAQuota) {
	parent := ""
	if q.parent >= 0 {
		parent = m.queues[q.parent].name
	}
	s.queue(q.name, parent, func(spec *scheduling.QueueSpec) {
		spec.Reclaimable = ptr.To(!q.irreclaimable)
		if q.deserved[core] >= 0 {
			spec.Deserved = cpu(q.deserved[core])
		}
		if q.capability[core] >= 0 {
			spec.Capability = cpu(q.capability[core])
		}
	})
	var quota schedulingv1beta1.DRAQuota
	for _, list := range []struct {
		count int
		quota *schedulingv1beta1.DeviceQuotas
	}{{q.deserved[device], &quota.Deserved}, {q.guarantee[device], &quota.Guarantee}, {q.capability[device], &quota.Capability}} {
		if list.count >= 0 {
			*list.quota = counts(int64(list.count))
		}
	}
	quotas[q.name] = quota
}

// slices keeps the slices of all nodes, which stocked replaces.
func (m *model) slices(s *fixture, node int, slice *resourcev1.ResourceSlice) {
	m.stock = append(m.stock[:node], slice)
	s.ResourceSlices = slices.Clone(m.stock)
}

func (m *model) addPods(s *fixture) {
	pods := make([][]*corev1.Pod, len(m.jobs))
	users := map[int]*corev1.Pod{}
	claims := map[int]*resourcev1.ResourceClaim{}
	for i := range m.pods {
		pod := m.pods[i].object(i, m.jobs[m.pods[i].job].priority)
		if id := m.pods[i].claim; id >= 0 && users[id] != nil {
			sharing(users[id], pod)
			claims[id].Status.ReservedFor = append(claims[id].Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		} else if id >= 0 {
			s.holding(m.claims[id].first, m.claims[id].devices, pod)
			users[id], claims[id] = pod, s.ResourceClaims[len(s.ResourceClaims)-1]
			for j := range claims[id].Status.Allocation.Devices.Results {
				claims[id].Status.Allocation.Devices.Results[j].Pool = pod.Spec.NodeName
			}
		}
		pods[m.pods[i].job] = append(pods[m.pods[i].job], pod)
	}
	for j, job := range m.jobs {
		s.job(fmt.Sprint("j", j), m.queues[job.queue].name, running, nil, pods[j]...)
		s.PodGroups[j].Spec.MinMember = int32(job.minimum)
	}
	var asking []*corev1.Pod
	for i, ask := range m.asks {
		pod := withPriority(newPod(fmt.Sprint("ask-", i), "", cpu(ask.needs[core])), int32(m.asking.priority))
		if ask.needs[device] > 0 {
			s.claimed(ask.needs[device], pod)
		}
		asking = append(asking, pod)
	}
	s.job("ask", m.queues[m.asking.queue].name, inqueue, nil, asking...)
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = int32(m.asking.minimum)
}

func (p *modelPod) object(i, priority int) *corev1.Pod {
	pod := withPriority(newPod(p.name(i), fmt.Sprint("n", p.node+1), cpu(p.cores)), int32(priority))
	pod.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+p.created), 0))
	if p.protected {
		pod.Annotations[scheduling.PodPreemptable], pod.Labels[scheduling.PodPreemptable] = "false", "false"
	}
	if p.leaving {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)}
	}
	if p.budgeted {
		pod.Labels["budget"] = "yes"
	}
	return pod
}

// modelOutcome is the result of a session.
type modelOutcome struct {
	victims podSet
	// places has the nodes of asking pods, -1 for none.
	places []int
}

func (m *model) outcome(t testing.TB, r *rand.Rand) modelOutcome {
	s := m.fixture(r)
	if m.budget < infinite {
		healthy := 0
		for i := range m.pods {
			if m.pods[i].budgeted && !m.pods[i].leaving {
				healthy++
			}
		}
		s.budget = disruptionBudget(int32(m.budget), int32(healthy), map[string]string{"budget": "yes"})
	}
	ssn := s.openByPriority(t)
	defer s.Close()
	s.Run(append([]framework.Action{enqueue.New()}, (&Plugins{cache: s.cache}).Actions()...))
	var o modelOutcome
	for i := range m.pods {
		if task := taskOf(ssn, m.pods[i].name(i)); task.Status == api.Releasing && !m.pods[i].leaving {
			o.victims |= 1 << i
		}
	}
	for i := range m.asks {
		place, task := -1, taskOf(ssn, fmt.Sprint("ask-", i))
		if task.Status != api.Pending {
			fmt.Sscanf(task.NodeName, "n%d", &place)
			place--
		}
		o.places = append(o.places, place)
	}
	return o
}
