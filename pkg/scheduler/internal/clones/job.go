// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// job is the copy of a job.
type job struct {
	source, info *api.JobInfo
	// group is the PodGroup of the source. Allocated and total are what the copy had at first.
	group            *api.PodGroup
	allocated, total *api.Resource
	renewal          int
	// index has the tasks of the copy by status while it is hidden.
	index map[api.TaskStatus]api.TasksMap
}

func newJob(source, info *api.JobInfo, renewal int) *job {
	return &job{source: source, info: info, group: source.PodGroup, allocated: info.Allocated.Clone(), total: info.TotalRequest.Clone(), renewal: renewal}
}

func (j *job) due(session int) bool { return session >= j.renewal }

// current reports whether the copy is what JobInfo.Clone would make of its source. What is not compared here depends on the PodGroup. Jobs with a network
// topology are copied each time, and so are jobs with pods that are being bound: others work on these pods.
func (j *job) current(source *api.JobInfo) bool {
	info := j.info
	return j.source == source && source.PodGroup != nil && j.group == source.PodGroup && !source.ContainsNetworkTopology() &&
		!hasHyperNode(source) && !hasHyperNode(info) && info.Queue == source.Queue && info.MinAvailable == source.MinAvailable &&
		source.PodGroup.ResourceVersion == info.PodGroup.ResourceVersion && maps.Equal(source.PodGroup.Annotations, info.PodGroup.Annotations) && len(info.TaskStatusIndex[api.Binding]) == 0 &&
		sameResource(j.allocated, info.Allocated) && sameResource(j.total, info.TotalRequest) && sameTasks(source.Tasks, info.Tasks)
}

// hasHyperNode reports whether a job, or a group of its pods, is in a hypernode.
func hasHyperNode(job *api.JobInfo) bool {
	found := job.AllocatedHyperNode != ""
	for _, group := range job.SubJobs {
		found = found || group.AllocatedHyperNode != ""
	}
	return found
}

// forget drops what a session notes in a job. Only what it also writes to the API server lasts.
func (j *job) forget() {
	info, conditions := j.info, j.info.PodGroup.Status.Conditions[:0]
	info.JobFitErrors, info.ScheduleStartTimestamp = j.source.JobFitErrors, metav1.Time{}
	if len(info.NodesFitErrors) > 0 {
		info.NodesFitErrors = map[api.TaskID]*api.FitErrors{} // others may have kept the map
	}
	info.PodGroup.Status = j.group.Status
	if conditions = append(conditions, j.group.Status.Conditions...); len(conditions) > 0 {
		info.PodGroup.Status.Conditions = conditions
	}
}

// hide takes the index out of a copy until reveal. Opening a session reads only the index of jobs with a network topology. For all others, it makes copies of
// pods that have a node, which nothing reads.
func (j *job) hide() { j.index, j.info.TaskStatusIndex = j.info.TaskStatusIndex, nil }

func (j *job) reveal() {
	if j.index != nil {
		j.info.TaskStatusIndex, j.index = j.index, nil
	}
}
