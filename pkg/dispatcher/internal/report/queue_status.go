// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	upstream "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

// queueReport is the report of a cycle about a queue.
type queueReport struct {
	usage     QueueUsage
	workloads workloadCounts
	// propagated says that Karmada propagates the queue to member clusters.
	propagated bool
}

func newQueueReport(queue *schedulingv1beta1.Queue, usage QueueUsage, workloads *workloadCounts) *queueReport {
	_, propagated := queue.Labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]
	return &queueReport{usage: usage, workloads: *workloads, propagated: propagated}
}

// status returns the status of a queue. It keeps the reservation and the state that others have written.
func (r *queueReport) status(before *upstream.QueueStatus) upstream.QueueStatus {
	status := *before.DeepCopy()
	if status.State == "" {
		status.State = upstream.QueueStateOpen // Volcano's controllers, which open queues, do not run here
	}
	n := &r.workloads
	status.Pending = n[pending] + n[returning]
	status.Inqueue = n[inqueue]
	status.Running = n[running] + n[growing]
	status.Completed = n[completed]
	status.Unknown = n[deleting]
	status.Allocated = r.allocated()
	return status
}

// allocated returns the resources that are charged to the queue.
func (r *queueReport) allocated() corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := range r.usage.Dimensions {
		d := &r.usage.Dimensions[i]
		if d.Dimension.Kind != ledger.Resource || d.Allocated.Sign() == 0 && !d.basic() {
			continue
		}
		quantity, err := resource.ParseQuantity(d.Allocated.String())
		if err != nil {
			continue // every amount is a decimal number, which is a valid quantity
		}
		if d.Dimension.Name == string(corev1.ResourceMemory) {
			quantity = *resource.NewQuantity(quantity.Value(), resource.BinarySI)
		}
		list[corev1.ResourceName(d.Dimension.Name)] = quantity
	}
	return list
}

// columns returns the usage of devices and cards for `kubectl get queue`. It returns none for a queue that Karmada propagates:
// the annotations would go to member clusters, and replace the annotations of the member's scheduler.
func (r *queueReport) columns() queueusage.Usage {
	if r.propagated {
		return queueusage.Usage{}
	}
	var entries []queueusage.Entry
	for i := range r.usage.Dimensions {
		d := &r.usage.Dimensions[i]
		waiting, _ := d.Request.Sub(d.Allocated) // both are sums of the ledger
		entries = append(entries, queueusage.Entry{Dimension: d.Dimension, Used: d.Allocated, Waiting: waiting, Limit: d.Limit, Listed: d.listed()})
	}
	return queueusage.Of(entries)
}
