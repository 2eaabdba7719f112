// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// refresh returns the demand of a task's pod, and counts again what has changed since the last session. If the pod has variants,
// it returns the one that counts.
func (s *Snapshot) refresh(task *api.TaskInfo) *demand.Pod {
	pod := s.Known(task.Pod)
	if pod == nil {
		s.changed = append(s.changed, task)
	}
	if pod == nil || s.Outdated(pod) {
		var err error
		if pod, err = s.Add(task.Pod, valuesOf(task.Resreq), task.InitResreq.ScalarResources); err != nil && !errors.As(err, new(demand.UnknownResourceError)) {
			klog.ErrorS(err, "Failed to count the resources of a pod", "pod", klog.KObj(task.Pod))
		}
	}
	s.Refresh(pod)
	return s.Settle(pod, placed(task))
}

// PodOf returns the demand of a task's pod whose queue is in the ledger. The error says why the pod cannot be charged.
func (s *Snapshot) PodOf(task *api.TaskInfo) (*demand.Pod, error) {
	pod := s.Known(task.Pod)
	if pod == nil {
		return nil, fmt.Errorf("pod %s/%s is not in this session", task.Namespace, task.Name)
	}
	if !pod.InLedger {
		return nil, fmt.Errorf("the queue of pod %s/%s cannot be used", task.Namespace, task.Name)
	}
	return pod, nil
}

// LimitsCards reports whether the pod asks for cards in a queue with limited cards.
func (s *Snapshot) LimitsCards(pod *demand.Pod) bool {
	return pod.Cards != nil && pod.InLedger && s.Ledger.ListsCards(pod.Queue)
}

// CountsCards reports whether the pod asks for cards in a queue that has limits for cards, or deserves some.
func (s *Snapshot) CountsCards(pod *demand.Pod) bool {
	return pod.Cards != nil && pod.InLedger && (s.Ledger.ListsCards(pod.Queue) || s.Ledger.DeservesCards(pod.Queue))
}

// Asked returns the demand that must fit before the pod can be placed.
func (s *Snapshot) Asked(pod *demand.Pod) ledger.Demand {
	return pod.Asked(s.LimitsCards(pod))
}

// remains reports whether a pod that the session lacks still exists. Its job may come back together with its queue.
func (s *Snapshot) remains(pod *corev1.Pod) bool {
	return s.exists(pod.Namespace, pod.Name, pod.UID)
}

// HolderOf returns the ledger holder of a pod.
func HolderOf(task *api.TaskInfo) ledger.Holder {
	return ledger.Holder(task.UID)
}

func olderFirst(a, b *api.TaskInfo) int {
	if c := a.Pod.CreationTimestamp.Compare(b.Pod.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// WantedOnNode returns the resources that a pod without devices needs on a node, including those of init containers.
func (s *Snapshot) WantedOnNode(task *api.TaskInfo) ledger.Amounts {
	wanted, err := s.Resources.Requested(valuesOf(task.InitResreq))
	if err != nil {
		return nil // its Allocatable says so
	}
	return wanted
}

// FreeOn returns the resources of a node that are free after all leaving pods have gone.
func (s *Snapshot) FreeOn(node *api.NodeInfo) ledger.Amounts {
	free, err := s.Resources.Amounts(valuesOf(node.FutureIdle()))
	if err != nil {
		return nil // more than the ledger can count
	}
	return free
}

// HoldsCards reports whether a pod on the node holds these cards and belongs to the queue or a descendant. Only the end
// of these pods makes room in the queue.
func (s *Snapshot) HoldsCards(node *api.NodeInfo, queue string, card ledger.Ordinal) bool {
	id, found := s.Ledger.Queue(queue)
	if !found {
		return false
	}
	for _, task := range node.Tasks {
		pod := s.Known(task.Pod)
		if pod == nil || pod.Cards == nil || !pod.InLedger || !s.Ledger.Within(pod.Queue, id) {
			continue
		}
		if pod.Cards.Part.Of(card).Sign() > 0 {
			return true
		}
	}
	return false
}
