// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// elsewhere returns the queue in which a pod got its node, if it is not the queue of the job. Since then, the PodGroup was replaced or moved, or
// the pod's annotation names another PodGroup. Volcano's controllers move a PodGroup when the template of a StatefulSet or ReplicaSet names
// another queue. The charge stays: otherwise, a user of two queues could free the full queue at the expense of the other, past its quota. If
// the queue is gone, elsewhere returns the lowest ancestor that still exists, as payingQueue does for the claims of the pod.
func (s *Snapshot) elsewhere(pod *demand.Pod, task *api.TaskInfo, job *api.JobInfo) (ledger.QueueID, bool) {
	if task.Status == api.Pending {
		s.ForgetQueue(pod) // an attempt to bind the pod may have failed
	}
	if !placed(task) {
		return 0, false
	}
	path := s.chargedPath(pod, task, job)
	if path[0] == string(job.Queue) {
		return 0, false
	}
	return s.lowest(path)
}

// chargedPath returns the queue in which a pod got its node, and its ancestors. A queue that was moved and then deleted has those that it had last.
// Without a memory of the pod, chargedPath reads its record. Without a record, it returns the queue of the job.
func (s *Snapshot) chargedPath(pod *demand.Pod, task *api.TaskInfo, job *api.JobInfo) []string {
	path := pod.ChargedPath()
	if path == nil {
		if path = chargerecord.Path(task.Pod); path == nil {
			path = []string{string(job.Queue)}
		}
		s.RememberQueue(pod, path)
	}
	if _, exists := s.Ledger.Queue(path[0]); exists || s.before == nil {
		return path
	}
	if gone, found := s.before.Queue(path[0]); found {
		path = s.before.Path(gone)
		s.RememberQueue(pod, path)
	}
	return path
}

// chargeElsewhere charges a pod to the queue in which it got its node. It returns the usage of the pod.
func (s *Snapshot) chargeElsewhere(queue ledger.QueueID, pod *demand.Pod, task *api.TaskInfo) usage {
	pod.Charge(queue, true)
	if pod.HasClaims {
		s.consumers = append(s.consumers, newConsumer(task, pod))
	}
	if pod.Cards != nil {
		s.assignCards(pod, task)
	}
	u := usage{queue: queue}
	s.chargePod(&u, pod, task)
	if err := s.Ledger.Add(queue, ledger.Request, u.request); err != nil {
		klog.ErrorS(err, "Failed to account a pod whose job is in another queue now", "pod", klog.KObj(task.Pod))
	}
	return u
}
