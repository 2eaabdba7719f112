// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/quota"
)

// groupName is the pod annotation with the name of the PodGroup.
const groupName = schedulingv1beta1.KubeGroupNameAnnotationKey

// queueOf returns the queue that pays for a pod without a job. It prefers the queue that paid last, known from this
// process or from the record of the pod, or the lowest ancestor that still exists. Next comes the queue that the pod or
// its Job names. If none is known, queueOf returns root, and attributed is false.
func (s *Snapshot) queueOf(pod *corev1.Pod, last []string) (queue ledger.QueueID, attributed bool) {
	paths := [][]string{last, chargerecord.Path(pod)}
	if !foreign(pod) {
		named := pod.Annotations
		paths = append(paths, []string{named[schedulingv1beta1.QueueNameAnnotationKey], named[batchv1alpha1.QueueNameKey], s.queueOfJob(pod)})
	}
	for _, path := range paths {
		if queue, found := s.lowest(path); found {
			return queue, true
		}
	}
	return s.root(), false
}

// lowest returns the first queue of a path that is in the ledger.
func (s *Snapshot) lowest(path []string) (ledger.QueueID, bool) {
	for _, name := range path {
		if queue, found := s.Ledger.Queue(name); found {
			return queue, true
		}
	}
	return 0, false
}

// root returns the root queue. Every ledger has it.
func (s *Snapshot) root() ledger.QueueID {
	root, _ := s.Ledger.Queue(quota.Root)
	return root
}

// queueOfJob returns the queue of the Volcano Job that created a pod. It is empty if unknown.
func (s *Snapshot) queueOfJob(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || s.VolcanoJobs == nil {
		return ""
	}
	job, err := s.VolcanoJobs.Jobs(pod.Namespace).Get(owner.Name)
	if err != nil || job.UID != owner.UID {
		return ""
	}
	return job.Spec.Queue
}

// queueOfClaim is queueOf for an allocated claim that no pod of the session holds.
func (s *Snapshot) queueOfClaim(claim *resourceapi.ResourceClaim) (queue ledger.QueueID, attributed bool) {
	if queue, known := s.payingQueue(claim); known {
		return queue, true
	}
	for _, consumer := range claim.Status.ReservedFor {
		pod, err := s.Pods.Pods(claim.Namespace).Get(consumer.Name)
		if err != nil || pod.UID != consumer.UID {
			continue
		}
		if queue, attributed := s.queueOf(pod, nil); attributed {
			return queue, true
		}
	}
	return s.root(), false
}

// foreign reports whether another scheduler placed a pod. Queue annotations of foreign pods do not count: the owners of
// the queues have not admitted these pods.
func foreign(pod *corev1.Pod) bool {
	if chargerecord.Path(pod) != nil {
		return false
	}
	return !forThisScheduler(pod.Spec.SchedulerName)
}

// mayHoldDevices reports whether a pod has claims, or requests resources that may stand for cards.
func mayHoldDevices(pod *corev1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil {
		return true
	}
	extended := func(container corev1.Container) bool {
		for name := range container.Resources.Requests {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, extended) || slices.ContainsFunc(pod.Spec.InitContainers, extended)
}

// RecordOfQueue returns the record for pods and claims that are charged to a queue.
func (s *Snapshot) RecordOfQueue(queue ledger.QueueID) string {
	if s.records == nil {
		s.records = map[ledger.QueueID]string{}
	}
	text, made := s.records[queue]
	if !made {
		text = chargerecord.Queue(s.Ledger.Path(queue))
		s.records[queue] = text
	}
	return text
}

// RecordOfCards returns the record of the cards that a pod is charged for. It is empty if there are none.
func RecordOfCards(pod *demand.Pod) string {
	if pod.Cards == nil {
		return ""
	}
	return chargerecord.Cards(pod.Cards.ChargedCards())
}

// Unattributed returns the pods that are charged to root because their queue is unknown, and the number of claims charged
// to root for the same reason.
func (s *Snapshot) Unattributed() (pods []report.Unattributed, claims int) {
	for _, object := range s.unattributedPods {
		isForeign := foreign(object)
		if pod := s.Known(object); isForeign && (pod == nil || holdsNoDevices(pod)) {
			continue
		}
		pods = append(pods, report.Unattributed{Pod: object, Foreign: isForeign})
	}
	for claim := range s.unknownPayer {
		if s.inherits(claim) {
			claims++
		}
	}
	return pods, claims
}

func holdsNoDevices(pod *demand.Pod) bool {
	devices := slices.ContainsFunc(pod.Claims, func(claim *demand.Claim) bool { return !claim.Part.Is(nil) })
	return !devices && (pod.Cards == nil || pod.Cards.Part.Is(nil))
}
