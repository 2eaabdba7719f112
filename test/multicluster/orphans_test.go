// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// orphanScenarios are about users who delete an object with --cascade=orphan, which leaves its binding and its pods, and create
// another object of the same name.
var orphanScenarios = []scenario{
	{
		name: "a Deployment that is deleted without its binding and created again waits for the pods that it had",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 3, change: endsSlowly})
			f.expectRunning(ctx, "web", 3)
			for range 2 {
				f.orphan(ctx, "deployments", "web")
				f.deployment(ctx, workload{name: "web", queue: team, pods: 1, change: endsSlowly})
				f.expectRunning(ctx, "web", 1)
				f.orphan(ctx, "deployments", "web")
				f.deployment(ctx, workload{name: "web", queue: team, pods: 3, change: endsSlowly})
				f.expectNotified(ctx, deployments, "web", "GrowthHeld", "has 2 of its pods that end")
				f.expectRunning(ctx, "web", 3)
			}
		},
	},
	{
		name: "a Deployment that takes the place of one that was deleted without its binding does not run before Karmada has noticed",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
			f.expectRunning(ctx, "web", 1)
			f.orphan(ctx, "deployments", "web")
			large := deploymentOf(workload{name: "web", queue: team, pods: 1, requests: cores("60")})
			large.Labels = map[string]string{"resourcetemplate.karmada.io/claimed-by": "nobody"} // Karmada's detector ignores it
			_, err := hub.kube.AppsV1().Deployments(f.namespace).Create(ctx, large, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.binding(ctx, deployments, "web").Annotations).To(HaveKeyWithValue("volcano.sh/hold", ContainSubstring("Growing")))
			again := fmt.Sprintf(`{"spec":{"rescheduleTriggeredAt":%q}}`, metav1.Now().UTC().Format(time.RFC3339)) // Karmada makes the Works again
			_, err = karmada.WorkV1alpha2().ResourceBindings(f.namespace).Patch(ctx, "web-deployment", types.MergePatchType, []byte(again), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			Consistently(func() (all []string) {
				for _, pod := range f.allPods(ctx, "web") {
					all = append(all, pod.Spec.Containers[0].Resources.Requests.Cpu().String())
				}
				return all
			}).WithContext(ctx).Should(Equal([]string{"1"}))
			f.Expect(karmada.WorkV1alpha2().ResourceBindings(f.namespace).Delete(ctx, "web-deployment", metav1.DeleteOptions{})).To(Succeed())
		},
	},
	{
		name: "a Job does not run beside a Volcano Job of its name that was deleted without its binding",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
			f.orphan(ctx, "volcano jobs", "train")
			f.batchJob(ctx, workload{name: "train", queue: team, pods: 2})
			job, err := hub.kube.BatchV1().Jobs(f.namespace).Get(ctx, "train", metav1.GetOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			becomesIt := fmt.Sprintf(`{"spec":{"resource":{"apiVersion":"batch/v1","kind":"Job","uid":%q}}}`, job.UID) // as Karmada tries
			_, err = karmada.WorkV1alpha2().ResourceBindings(f.namespace).Patch(ctx, "train-job", types.MergePatchType, []byte(becomesIt), metav1.PatchOptions{})
			f.Expect(err).To(MatchError(ContainSubstring("is still that of a Job in batch.volcano.sh/v1alpha1")))
			f.Expect(f.allPods(ctx, "train")).To(HaveLen(2))
			f.Expect(karmada.WorkV1alpha2().ResourceBindings(f.namespace).Delete(ctx, "train-job", metav1.DeleteOptions{})).To(Succeed())
		},
	},
	{
		name: "a Volcano Job does not run beside the tasks of one of its name that was deleted without its binding",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
			f.orphan(ctx, "volcano jobs", "train")
			job := volcanoJobOf(workload{name: "train", queue: team, pods: 2})
			job.Spec.Tasks[0].Name = "other"
			_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, job, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.Eventually(func() (names []string) {
				for _, pod := range f.allPods(ctx, "train") {
					names = append(names, pod.Name)
				}
				return names
			}).WithContext(ctx).Should(ConsistOf("train-other-0", "train-other-1"))
		},
	},
	{
		name: "a Job that has ended, and is deleted without its binding and created again, waits for room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.batchJob(ctx, workload{name: "train", queue: team, pods: 2, runFor: briefly})
			f.expectNotified(ctx, batchJobs, "train", "Finished")
			f.deployment(ctx, workload{name: "other", queue: team, pods: 2})
			f.expectRunning(ctx, "other", 2)
			f.orphan(ctx, "jobs", "train")
			f.batchJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectHeld(ctx, batchJobs, "train", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.scale(ctx, "other", 0)
			f.expectRunning(ctx, "train", 2)
		},
	},
}

// leavable are the resources of objects that orphan can delete.
var leavable = map[string]schema.GroupVersionResource{
	"deployments":  {Group: "apps", Version: "v1", Resource: "deployments"},
	"jobs":         {Group: "batch", Version: "v1", Resource: "jobs"},
	"volcano jobs": {Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"},
}

// orphan deletes an object without its binding, and waits until it is gone. The label prevents Karmada's detector from making the object
// the owner of the binding again.
func (f *fixture) orphan(ctx context.Context, resource, name string) {
	GinkgoHelper()
	client := dynamic.NewForConfigOrDie(multicluster.Config()).Resource(leavable[resource]).Namespace(f.namespace)
	_, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"resourcetemplate.karmada.io/claimed-by":"nobody"}}}`), metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)})).To(Succeed())
	f.Eventually(func() bool {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithContext(ctx).Should(BeTrue(), "%s %s is gone", resource, name)
}
