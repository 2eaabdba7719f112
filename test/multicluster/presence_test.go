// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// presenceSpecs are about times without a dispatcher. They run one after another.
func presenceSpecs() {
	It("charges what ran before it was installed, and takes nothing from it", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("2")))
		uninstallDispatcher(ctx)
		f.deployment(ctx, workload{name: "older", queue: team, pods: 3})
		f.volcanoJob(ctx, workload{name: "oldest", queue: team, pods: 1})
		f.expectRunning(ctx, "older", 3)
		f.expectRunning(ctx, "oldest", 1)
		startDispatcher(ctx, "main", dispatcherConfig("", ""))

		f.expectNotified(ctx, deployments, "older", "Adopted", team, "<3>")
		f.expectNotified(ctx, volcanoJobs, "oldest", "Adopted", team, "<1>")
		f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 1})
		f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 5, 2))
		f.Expect(f.running(ctx, east, "older") + f.running(ctx, west, "older")).To(Equal(3))
		f.finish(ctx, "oldest")
		f.scale(ctx, "older", 1)
		f.expectRunning(ctx, "next", 1)
	})

	It("lets nothing pass while no dispatcher runs", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("3")))
		f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
		f.expectRunning(ctx, "web", 1)
		f.volcanoJob(ctx, workload{name: "ends", queue: team, pods: 2})
		f.expectRunning(ctx, "ends", 2)
		f.volcanoJob(ctx, workload{name: "waits", queue: team, pods: 2})
		f.expectHeld(ctx, volcanoJobs, "waits", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 5, 3))
		Expect(dispatchers["main"].Kill()).To(Succeed())

		By("holding what comes, what grows, and what waits")
		younger := workload{name: "younger", queue: team, pods: 1} // if both are created in one second, the name decides
		_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, volcanoJobOf(younger), metav1.CreateOptions{})
		Expect(err).To(HaveOccurred(), "nobody can say whether it takes the place of another one")
		_, err = hub.kube.AppsV1().Deployments(f.namespace).Patch(ctx, "web", "application/merge-patch+json", []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
		Expect(err).To(HaveOccurred(), "nobody can say whether the growth fits")
		f.finish(ctx, "ends")
		f.Eventually(func() bool { return f.replay(ctx).hasFinished("ends") }).WithContext(ctx).Should(BeTrue())
		f.expectNowhere(ctx, volcanoJobs, "waits")

		Expect(dispatchers["main"].Restart(ctx)).To(Succeed())
		f.volcanoJob(ctx, younger)
		f.expectRunning(ctx, "waits", 2)
		f.finish(ctx, "waits")
		f.expectRunning(ctx, "younger", 1)
		f.expectQuotasKept(ctx)
	})
}

// uninstallDispatcher stops the dispatcher and removes its webhooks.
func uninstallDispatcher(ctx context.Context) {
	GinkgoHelper()
	endDispatcher("main")
	webhooks := hub.kube.AdmissionregistrationV1()
	Expect(webhooks.MutatingWebhookConfigurations().Delete(ctx, "vc-dispatcher", metav1.DeleteOptions{})).To(Succeed())
	Expect(webhooks.ValidatingWebhookConfigurations().Delete(ctx, "vc-dispatcher", metav1.DeleteOptions{})).To(Succeed())
}

// hasFinished reports whether the end of a workload was reported on its last binding.
func (r *replay) hasFinished(workload string) bool {
	for _, b := range r.releases {
		if b.binding != nil && b.binding.Spec.Resource.Name == workload {
			return b.finished
		}
	}
	return false
}
