// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// cardResource is the resource of the cards in testdata.
const cardResource = "nvidia.com/gpu"

// deviceClass is the class of the devices in testdata. Card is the name of the cards.
const (
	deviceClass = "nvidia-h100"
	card        = "NVIDIA-H100-80GB"
)

type queueOption func(*schedulingv1beta1.Queue)

// cores returns an amount of cpu.
func cores(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
}

func capable(resources corev1.ResourceList) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.Capability = resources }
}

func deserving(resources corev1.ResourceList) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.Deserved = resources }
}

func ofPriority(n int32) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.Priority = n }
}

// withCards sets a card quota as JSON.
func withCards(quota string) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		metav1.SetMetaDataAnnotation(&q.ObjectMeta, schedulingv1beta1.CardQuotaAnnotation, quota)
	}
}

// withDevices sets the quota of a device class: a number of devices, and amounts of their capacities.
func withDevices(class string, count int64, capacities map[string]string) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		quota := schedulingv1beta1.DeviceQuota{Count: count}
		for name, quantity := range capacities {
			if quota.Capacity == nil {
				quota.Capacity = schedulingv1beta1.DeviceCapacities{}
			}
			quota.Capacity[name] = resource.MustParse(quantity)
		}
		q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{class: quota}}
	}
}

// name returns a unique name for an object without a namespace.
func (f *fixture) name(name string) string { return f.namespace + "-" + name }

// queue creates a queue below parent on Karmada's API server. The members get a queue of that name without limits, so only the
// limits on Karmada's API server apply.
func (f *fixture) queue(ctx context.Context, name, parent string, options ...queueOption) string {
	GinkgoHelper()
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: f.name(name)}}
	q.Spec.Parent, q.Spec.Weight = "root", 1
	for _, member := range members {
		_, err := member.queues.SchedulingV1beta1().Queues().Create(ctx, q.DeepCopy(), metav1.CreateOptions{})
		f.Expect(err).NotTo(HaveOccurred())
	}
	q.Spec.Parent = parent
	for _, option := range options {
		option(q)
	}
	_, err := hub.queues.SchedulingV1beta1().Queues().Create(ctx, q, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	return q.Name
}

// changeQueue changes a queue on Karmada's API server.
func (f *fixture) changeQueue(ctx context.Context, name string, change queueOption) {
	GinkgoHelper()
	f.Eventually(func() error {
		q, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(q)
		_, err = hub.queues.SchedulingV1beta1().Queues().Update(ctx, q, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

// priorityClass creates a PriorityClass on Karmada's API server and in the members, where pods name it.
func (f *fixture) priorityClass(ctx context.Context, name string, value int32) string {
	GinkgoHelper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: f.name(name)}, Value: value}
	for _, c := range []clients{hub, members[east], members[west]} {
		_, err := c.kube.SchedulingV1().PriorityClasses().Create(ctx, class.DeepCopy(), metav1.CreateOptions{})
		f.Expect(err).NotTo(HaveOccurred())
	}
	return class.Name
}
