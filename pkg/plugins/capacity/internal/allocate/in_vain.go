// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// inVain says which groups of pods upstream's action need not try, because it has tried others in the same HyperNode. Each group asks all nodes again: a job of
// thousands of groups took seconds of each session.
type inVain struct {
	*Action
	job *api.JobInfo
	// within is the HyperNode in which the job is being placed.
	within string
	// last is the group that was tried last, and tried has its pods that waited before.
	last  *api.SubJobInfo
	tried []*api.TaskInfo
	// failed has what the groups look like that got nothing.
	failed map[string]bool
	// groups has the number of groups of each policy that are ready or may still get ready, and pods the number of pods that the job has or may still get.
	groups map[api.SubJobGID]int32
	pods   int
}

func (v *inVain) begin(within string) {
	v.within, v.last, v.failed, v.groups, v.pods = within, nil, map[string]bool{}, map[api.SubJobGID]int32{}, len(v.job.Tasks)
	for _, group := range v.job.SubJobs {
		v.groups[group.GID]++
	}
}

// skips reports whether a group would get nothing in a HyperNode, or whether its job cannot start there whatever the group gets. Upstream's action asks this
// before it tries a group.
func (v *inVain) skips(group *api.SubJobInfo, within string) bool {
	if v.within != within {
		v.begin(within)
	}
	waiting := v.waitingOf(group)
	if v.last != nil && len(v.waitingOf(v.last)) == len(v.tried) {
		v.fail(v.last, v.tried)
		if looks, ok := v.looksOf(v.last, v.tried); ok {
			v.failed[looks] = true
		}
	}
	v.last, v.tried = group, waiting
	skips := v.doomed()
	if !skips && len(v.failed) > 0 {
		looks, ok := v.looksOf(group, waiting)
		skips = ok && v.failed[looks]
	}
	if skips {
		v.fail(group, waiting)
		v.last = nil
	}
	return skips
}

// waitingOf returns the waiting pods of a group. Volcano's index of the group also has pods that have got a node in this session.
func (v *inVain) waitingOf(group *api.SubJobInfo) (waiting []*api.TaskInfo) {
	for id := range group.Tasks {
		if task := v.job.Tasks[id]; task != nil && task.Status == api.Pending {
			waiting = append(waiting, task)
		}
	}
	return waiting
}

func (v *inVain) fail(group *api.SubJobInfo, waiting []*api.TaskInfo) {
	for _, task := range waiting {
		if !task.Resreq.IsEmpty() { // pods without requests count for the minimum
			v.pods--
		}
	}
	if !v.session.SubJobReady(v.job, group) {
		v.groups[group.GID]--
	}
}

// doomed reports whether the job cannot start any more. What a group does not get at first, it does not get later.
func (v *inVain) doomed() bool {
	if v.pods < int(v.job.MinAvailable) {
		return true
	}
	for policy, least := range v.job.MinSubJobs {
		if v.groups[policy] < least {
			return true
		}
	}
	return false
}

// looksOf returns what a group and its waiting pods look like. Of two groups that look alike, the second one gets nothing if the first one got nothing. The
// result is false if that is not sure.
func (v *inVain) looksOf(group *api.SubJobInfo, waiting []*api.TaskInfo) (string, bool) {
	if !v.filters {
		return "", false
	}
	looks := map[look]int{}
	for _, task := range waiting {
		named := slices.ContainsFunc(task.Pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.ResourceClaimName != nil })
		if named || task.SchGated || v.session.PrePredicateFn(task) != nil {
			return "", false
		}
		signed, ok := v.sign(task)
		if !ok {
			return "", false
		}
		looks[look{role: task.TaskRole, signed: signed}]++
	}
	return fmt.Sprint(group.GID, " ", group.AllocatedHyperNode, " ", group.MinAvailable-group.ReadyTaskNum(), " ", looks), true
}
