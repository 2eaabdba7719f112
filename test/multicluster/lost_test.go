// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// lostSpecs are about objects that Karmada has lost. They run one after another.
func lostSpecs() {
	var background = metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}

	It("charges what a member has that Karmada has lost, when the member comes back, until it is gone", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("3")))
		other := f.queue(ctx, "other", "root")
		f.lose(ctx, workload{name: "web", queue: team, pods: 2, in: west, change: func(pods *corev1.PodTemplateSpec) {
			// Users write the labels of pods. They have no effect.
			pods.Labels["karmada.io/managed"], pods.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] = "true", "forged"
			pods.Annotations["scheduling.volcano.sh/queue-name"] = team
			pods.Labels["scheduling.volcano.sh/queue-name"] = other
		}})
		Expect(multicluster.Disconnect(ctx, west)).To(Succeed())
		DeferCleanup(multicluster.Reconnect, west)
		Expect(multicluster.Reconnect(ctx, west)).To(Succeed())
		f.expectCharged(ctx, team, 2_000)
		f.expectCharged(ctx, other, 0)
		f.expectEvent(ctx, "Deployment", "web", "StillRuns", "Karmada has lost it", "in cluster "+west)
		f.deployment(ctx, workload{name: "next", queue: team, pods: 2, in: east})
		f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 3))

		Expect(members[west].kube.AppsV1().Deployments(f.namespace).Delete(ctx, "web", background)).To(Succeed())
		f.expectRunningIn(ctx, east, "next", 2)
		f.expectCharged(ctx, team, 2_000)
	})

	It("charges it before anything else when a dispatcher begins to lead", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("3")))
		Expect(dispatchers["main"].Kill()).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(dispatchers["main"].Restart(ctx)).To(Succeed()) })
		f.has(ctx, workload{name: "web", queue: team, pods: 2, in: west})
		f.expectRunningIn(ctx, west, "web", 2)
		Expect(dispatchers["main"].Restart(ctx)).To(Succeed())
		f.deployment(ctx, workload{name: "next", queue: team, pods: 2, in: east})
		f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 3))
		f.scale(ctx, "next", 1)
		f.expectRunningIn(ctx, east, "next", 1)
		Expect(members[west].kube.AppsV1().Deployments(f.namespace).Delete(ctx, "web", background)).To(Succeed())
		f.expectCharged(ctx, team, 1_000)
	})
}

// lose runs a Deployment, deletes it, and recreates it in its member, as Karmada does when it acts on old data.
func (f *fixture) lose(ctx context.Context, w workload) {
	GinkgoHelper()
	f.deployment(ctx, w)
	f.expectRunningIn(ctx, w.in, w.name, int(w.pods))
	web, err := members[w.in].kube.AppsV1().Deployments(f.namespace).Get(ctx, w.name, metav1.GetOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(web.Labels).To(HaveKeyWithValue("karmada.io/managed", "true"))
	f.remove(ctx, deployments, w.name)
	f.Eventually(func() *workv1alpha2.ResourceBinding { return f.binding(ctx, deployments, w.name) }).WithContext(ctx).Should(BeNil())
	web.ResourceVersion, web.UID = "", ""
	_, err = members[w.in].kube.AppsV1().Deployments(f.namespace).Create(ctx, web, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	f.expectRunningIn(ctx, w.in, w.name, int(w.pods))
}

// deleteLost deletes objects in the members that still run according to the dispatcher, if Karmada's API server does not have them any
// more: Karmada has lost them.
func (f *fixture) deleteLost(ctx context.Context) {
	GinkgoHelper()
	events, err := hub.kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=StillRuns"})
	f.Expect(err).NotTo(HaveOccurred())
	for _, e := range events.Items {
		about := e.InvolvedObject
		resource, _ := meta.UnsafeGuessKindToResource(about.GroupVersionKind())
		in := func(config *rest.Config) dynamic.ResourceInterface {
			return dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(f.namespace)
		}
		if _, err := in(multicluster.Config()).Get(ctx, about.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			f.Expect(err).NotTo(HaveOccurred())
			continue
		}
		for name := range members {
			client := in(multicluster.Member(name).Config())
			err := client.Delete(ctx, about.Name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
			if err == nil {
				AddReportEntry("lost by Karmada", fmt.Sprintf("%s %s in member %s: %s", about.Kind, about.Name, name, e.Message))
			} else if !apierrors.IsNotFound(err) { // members have no bindings
				f.Expect(err).NotTo(HaveOccurred())
			}
		}
	}
}

// has creates a Deployment in a member with the labels of Karmada, but without a binding.
func (f *fixture) has(ctx context.Context, w workload) {
	GinkgoHelper()
	web := deploymentOf(w)
	metav1.SetMetaDataLabel(&web.ObjectMeta, "karmada.io/managed", "true")
	metav1.SetMetaDataLabel(&web.ObjectMeta, workv1alpha2.ResourceBindingPermanentIDLabel, "of-"+f.namespace)
	_, err := f.kubeIn(ctx, w.in).AppsV1().Deployments(f.namespace).Create(ctx, web, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// expectCharged waits until a queue is charged this many thousandths of a core.
func (f *fixture) expectCharged(ctx context.Context, queue string, milliCPU int64) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		q, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, queue, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(q.Status.Allocated.Cpu().MilliValue()).To(Equal(milliCPU))
	}).WithContext(ctx).Should(Succeed())
}
