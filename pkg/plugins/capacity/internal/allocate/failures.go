// SPDX-License-Identifier: Apache-2.0

package allocate

import "volcano.sh/volcano/pkg/scheduler/api"

// failures says which roles of a job have a pod that no node suits, and whether the job can still become ready. Upstream's JobInfo finds that out again from
// all pods of the job for each of them: a job of 8,000 pods that suit no node took a minute of each session.
type failures struct {
	job *api.JobInfo
	// roles has the roles with a failed pod. Waiting has the number of waiting pods of each role, and left their sum for the roles without a failed pod.
	roles   map[string]bool
	waiting map[string]int
	left    int
	// placed has the number of pods of each role that count for its minimum. Doomed says that a failed role does not get its minimum.
	placed map[string]int32
	doomed bool
}

// failuresOf returns what is known about a job whose pods are all in its default group.
func (a *Action) failuresOf(job *api.JobInfo) *failures {
	if known := a.failures[job.UID]; known != nil {
		return known
	}
	f := &failures{job: job, roles: map[string]bool{}, waiting: map[string]int{}, left: len(job.TaskStatusIndex[api.Pending]), placed: map[string]int32{}}
	for status, tasks := range job.TaskStatusIndex {
		for _, task := range tasks {
			if status == api.Pending {
				f.waiting[task.TaskRole]++
			}
			if api.AllocatedStatus(status) || status == api.Succeeded || status == api.Pending && task.InitResreq.IsEmpty() {
				f.placed[task.TaskRole]++
			}
		}
	}
	for id := range job.NodesFitErrors { // of earlier actions
		if task := job.Tasks[id]; task != nil {
			f.fail(task.TaskRole)
		}
	}
	a.failures[job.UID] = f
	return f
}

// has reports whether a pod with the role of a pod has failed. Roles without a name are none.
func (f *failures) has(task *api.TaskInfo) bool { return task.TaskRole != "" && f.roles[task.TaskRole] }

// fail notes that no node suits a pod of a role.
func (f *failures) fail(role string) {
	if f.roles[role] {
		return
	}
	f.roles[role] = true
	f.left -= f.waiting[role]
	f.doomed = f.doomed || f.placed[role] < f.job.TaskMinAvailable[role]
}

// got notes that a pod has got a node.
func (f *failures) got(task *api.TaskInfo) {
	f.waiting[task.TaskRole]--
	if !f.roles[task.TaskRole] {
		f.left--
	}
	if api.AllocatedStatus(task.Status) {
		f.placed[task.TaskRole]++
	}
}

// goOn reports whether the other pods of the job may still make it ready, as JobInfo.NeedContinueAllocating does.
func (f *failures) goOn(subJob *api.SubJobInfo) bool {
	job := f.job
	if int(job.MinAvailable) == len(job.Tasks) || int(subJob.MinAvailable) >= len(subJob.Tasks) {
		return false
	}
	if job.MinAvailable < job.TaskMinAvailableTotal {
		return int(job.ReadyTaskNum())+f.left >= int(job.MinAvailable)
	}
	return !f.doomed
}

// missing returns the number of pods that each role needs for its minimum, without the roles that need none: a PodGroup may list many.
func (f *failures) missing() map[string]int {
	missing := map[string]int{}
	if f.job.MinAvailable < f.job.TaskMinAvailableTotal {
		return missing
	}
	for role, least := range f.job.TaskMinAvailable {
		if more := least - f.placed[role]; more > 0 {
			missing[role] = int(more)
		}
	}
	return missing
}
