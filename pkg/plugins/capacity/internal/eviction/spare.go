// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// isGang reports whether a job needs several pods to run. A pod that stands alone is not a gang, although upstream's
// plugin gang protects it.
func isGang(job *api.JobInfo) bool {
	return job.MinAvailable > 1 || job.PodGroup != nil && slices.ContainsFunc(job.PodGroup.Spec.SubGroupPolicy, needsSeveral)
}

// needsSeveral reports whether the subgroups of a policy need several pods.
func needsSeveral(policy scheduling.SubGroupPolicySpec) bool {
	least, size := policy.MinSubGroups, policy.SubGroupSize
	return least != nil && *least > 0 && (*least > 1 || size != nil && *size > 1)
}

// MayLose reports whether a job allows the eviction of some pod. Gangs keep their minimum, unless they may be evicted as a whole.
func MayLose(job *api.JobInfo, wholeGangs bool) bool {
	return wholeGangs || !isGang(job) || spareOf(job).some()
}

// spare is what a gang has beyond its minimum, as upstream's plugin gang counts it. It is valid until a pod of the gang gets or loses its node.
type spare struct {
	job  *api.JobInfo
	pods int32
	// tasks has the pods beyond the minimum of each task of the Job that has one.
	tasks map[string]int32
	// subgroups has the whole subgroups beyond the minimum of each policy that has one.
	subgroups map[api.SubJobGID]int32
}

// spareOf returns what a gang has beyond its minimum. Below its minimum, it can lose nothing.
func spareOf(job *api.JobInfo) *spare {
	s := &spare{job: job, pods: job.ReadyTaskNum() - job.MinAvailable, tasks: map[string]int32{}, subgroups: map[api.SubJobGID]int32{}}
	if s.pods <= 0 {
		return s
	}
	s.countTasks()
	s.countSubgroups()
	return s
}

// spareOf returns what a gang has beyond its minimum in this version of the plan.
func (a *preemptor) spareOf(job *api.JobInfo) *spare {
	if a.spareIn != a.version || a.spare == nil {
		a.spareIn, a.spare = a.version, map[api.JobID]*spare{}
	}
	s := a.spare[job.UID]
	if s == nil {
		s = spareOf(job)
		a.spare[job.UID] = s
	}
	return s
}

// countTasks counts the pods of tasks. As in upstream, the minimums of tasks are ignored if their sum is more than the minimum of the job.
func (s *spare) countTasks() {
	if len(s.job.TaskMinAvailable) == 0 || s.job.MinAvailable < s.job.TaskMinAvailableTotal {
		return
	}
	for name, least := range s.job.TaskMinAvailable {
		s.tasks[name] = -least
	}
	for _, task := range s.job.Tasks {
		if _, limited := s.tasks[task.TaskRole]; limited && hasNode(task) {
			s.tasks[task.TaskRole]++
		}
	}
	for _, left := range s.tasks {
		if left < 0 {
			s.pods = 0
		}
	}
}

// hasNode reports whether JobInfo.ReadyTaskNum counts a pod.
func hasNode(task *api.TaskInfo) bool {
	return api.AllocatedStatus(task.Status) || task.Status == api.Succeeded
}

// countSubgroups counts the whole subgroups.
func (s *spare) countSubgroups() {
	for policy, least := range s.job.MinSubJobs {
		if least > 0 {
			s.subgroups[policy] = -least
		}
	}
	if len(s.subgroups) == 0 {
		return
	}
	for _, subgroup := range s.job.SubJobs {
		if _, limited := s.subgroups[subgroup.GID]; limited && subgroup.ReadyTaskNum() >= subgroup.MinAvailable {
			s.subgroups[subgroup.GID]++
		}
	}
	for _, left := range s.subgroups {
		if left < 0 {
			s.pods = 0
		}
	}
}

// some reports whether the gang can lose some pod.
func (s *spare) some() bool {
	if len(s.tasks) == 0 && len(s.subgroups) == 0 {
		return s.pods > 0
	}
	for status, tasks := range s.job.TaskStatusIndex {
		if !api.PreemptableStatus(status) {
			continue
		}
		for _, task := range tasks {
			if s.loss().allows(task) {
				return true
			}
		}
	}
	return false
}

// loss is the pods that a gang loses.
type loss struct {
	spare *spare
	pods  int32
	// tasks counts the pods by task, members by subgroup. broken counts the subgroups that are no longer whole, by policy.
	tasks   map[string]int32
	members map[api.SubJobID]int32
	broken  map[api.SubJobGID]int32
}

// loss returns the loss of nothing.
func (s *spare) loss() *loss {
	return &loss{spare: s, tasks: map[string]int32{}, members: map[api.SubJobID]int32{}, broken: map[api.SubJobGID]int32{}}
}

// allows reports whether the gang keeps its minimum if it loses this pod, too.
func (l *loss) allows(task *api.TaskInfo) bool {
	left, limited := l.spare.tasks[task.TaskRole]
	if l.pods >= l.spare.pods || limited && l.tasks[task.TaskRole] >= left {
		return false
	}
	subgroup, breaks := l.breaks(task)
	return !breaks || l.broken[subgroup.GID] < l.spare.subgroups[subgroup.GID]
}

// add adds a pod that the gang loses.
func (l *loss) add(task *api.TaskInfo) {
	l.pods++
	l.tasks[task.TaskRole]++
	subgroup, breaks := l.breaks(task)
	if breaks {
		l.broken[subgroup.GID]++
	}
	if subgroup != nil {
		l.members[subgroup.UID]++
	}
}

// breaks returns the subgroup of a pod, nil if there is none, and whether the subgroup counts toward the minimum, and is whole only with the pod.
func (l *loss) breaks(task *api.TaskInfo) (*api.SubJobInfo, bool) {
	job := l.spare.job
	subgroup := job.SubJobs[job.TaskToSubJob[task.UID]]
	if subgroup == nil {
		return nil, false
	}
	_, limited := l.spare.subgroups[subgroup.GID]
	return subgroup, limited && subgroup.ReadyTaskNum()-l.members[subgroup.UID] == subgroup.MinAvailable
}
