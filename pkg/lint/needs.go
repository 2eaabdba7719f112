// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// checkNeeds finds workloads that need more than their queue can ever have, and workloads with needs that cannot be counted. The ledger has no
// charges, so a workload that does not fit now never fits.
func (w *world) checkNeeds(work *work, queue ledger.QueueID) {
	job, minimum, pods := w.jobOf(work)
	needs, err := w.counter.JobNeeds(w.ledger, demand.Group{
		MinMember: pods, Annotations: work.object.GetAnnotations(), Priority: w.priorityOf,
		Job: func() (*batchv1alpha1.Job, error) { return job, nil },
	}, demand.JobPods{}, w.knowsClaimsOf(work))
	if errors.As(err, new(*demand.UnknownCardError)) && !w.Known[Nodes] {
		return // an unknown node may have the card
	}
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "task : ") // pods that are all alike have no task
		w.add(refusals.TaskRequestFailedReason, work.ref, Path{"spec"}, refusals.Uncountable(errors.New(why)))
		return
	}
	amounts, unknown := w.counter.Resources.Minimum(minimum, nil)
	needs.Amounts = demand.Sum(amounts, needs.Amounts)
	refused, err := w.counter.FitsInqueue(w.ledger, queue, needs)
	if err != nil {
		w.add(refusals.TaskRequestFailedReason, work.ref, Path{"spec"}, refusals.Uncountable(err))
		return
	}
	if refused == nil && unknown.Resource != "" && w.Known[Nodes] {
		path := w.ledger.Path(queue)
		w.add(refusals.InsufficientScalarQuotaReason, work.ref, Path{"spec"}, refusals.ResourceUnknown(path[len(path)-1], string(unknown.Resource), unknown.Amount))
		return
	}
	if refused == nil || refused.Dimension.Kind == ledger.Card && !w.Known[Nodes] {
		return
	}
	refusal := refusals.Quota{
		Refusal: refused,
		NoCardQuota: refused.Dimension.Kind == ledger.Card &&
			!slices.ContainsFunc(w.ledger.Path(queue), func(name string) bool { return w.queueNamed(name).ListsCards }),
		NoDeviceQuota: w.settings.DeviceQuotaRequired && refused.Dimension.Kind == ledger.DeviceCount && !w.ledger.ListsClass(queue, refused.Dimension.Name),
	}
	w.add(refusal.Reason(), work.ref, Path{"spec"}, refusal.Message())
}

// jobOf returns a Volcano Job with the minimum of a workload, the resources of this minimum, and the number of pods.
func (w *world) jobOf(work *work) (job *batchv1alpha1.Job, minimum corev1.ResourceList, pods int) {
	job = &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: work.ref.Namespace, Name: work.ref.Name}}
	minimum = corev1.ResourceList{}
	for name, quantity := range work.template.Reserve {
		minimum[name] = quantity.DeepCopy()
	}
	for i := range work.template.Pods {
		set := &work.template.Pods[i]
		least := int32(set.Minimum)
		job.Spec.Tasks = append(job.Spec.Tasks, batchv1alpha1.TaskSpec{Name: set.Name, Replicas: least, MinAvailable: &least, Template: *set.Template})
		job.Spec.MinAvailable += least
		for name, quantity := range requests.OfPod(&corev1.Pod{Spec: *demand.Defaulted(&set.Template.Spec)}) {
			sum := minimum[name]
			quantity.Mul(set.Minimum)
			sum.Add(quantity)
			minimum[name] = sum
		}
	}
	return job, minimum, int(job.Spec.MinAvailable)
}

// knowsClaimsOf reports whether everything that determines the claims of a workload is known.
func (w *world) knowsClaimsOf(work *work) bool {
	if !w.Known[Classes] {
		return false
	}
	for i := range work.template.Pods {
		for _, claim := range work.template.Pods[i].Template.Spec.ResourceClaims {
			if claim.ResourceClaimTemplateName != nil && !w.Known[Templates] || claim.ResourceClaimName != nil && !w.Known[Claims] {
				return false
			}
		}
	}
	return true
}

// priorityOf returns the value of a PriorityClass, or zero if it is unknown.
func (w *world) priorityOf(class string) int32 {
	for _, object := range w.PriorityClasses {
		if object.Name == class {
			return object.Value
		}
	}
	return 0
}
