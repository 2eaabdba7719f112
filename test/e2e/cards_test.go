// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

var _ = Describe("Cards of device plugins", func() {
	const scalar = "InsufficientScalarQuota"

	It("are counted by model, share and queue, and never exceed the quota", func(ctx context.Context) {
		f := newFixture(ctx)
		f.fiveModels(ctx)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-A100-80GB": 3, "NVIDIA-H100-80GB": 8, "NVIDIA-H20": 4, "NVIDIA-H20/mps-96g*1/2": 2, "NVIDIA-H20/mig-1g.18gb-mixed": 3, "Ascend-910B": 8}`)
		for card, n := range map[string]int{a100: 8, h100: 8, rtx: 8, h20: 4, h20 + "/mps-96g*1/2": 4, h20 + "/mig-1g.18gb-mixed": 7, ascend: 8} {
			expectCardsIn(ctx, card, n)
		}

		f.cardJob(ctx, "several", team,
			cardTask{names: a100, count: 2}, cardTask{names: h100, count: 4, pods: 2}, cardTask{names: h20},
			cardTask{names: h20 + "/mps-96g*1/2", resource: "nvidia.com/gpu.shared", count: 2},
			cardTask{names: h20 + "/mig-1g.18gb-mixed", resource: "nvidia.com/mig-1g.18gb", count: 3},
			cardTask{names: ascend, resource: "huawei.com/Ascend910", count: 8})
		f.expectRunning(ctx, "several", 7)
		for node, n := range map[string]int{"a100": 1, "h100": 2, "h20": 3, "ascend": 1} {
			f.expectOn(ctx, "several", node, n)
		}
		expectCards(ctx, team, a100+"=2", h100+"=8", h20+"=1", h20+"/mps-96g*1/2=2", h20+"/mig-1g.18gb-mixed=3", ascend+"=8")
		for _, metric := range []string{"deserved", "capacity"} { // the metrics of a session are written one by one
			Eventually(func() []string { return cardAccount(ctx, team, metric) }).WithContext(ctx).Should(ContainElement(a100 + "=3"))
		}

		By("refusing one more of each")
		f.cardJob(ctx, "last", team, cardTask{names: a100})
		f.expectRunning(ctx, "last", 1)
		for i, task := range []cardTask{
			{names: a100}, {names: h100}, {names: rtx}, {names: ascend, resource: "huawei.com/Ascend910"},
			{names: h20 + "/mps-96g*1/2", resource: "nvidia.com/gpu.shared"},
		} {
			job := fmt.Sprint("more-", i)
			f.cardJob(ctx, job, team, task)
			f.expectNotEnqueued(ctx, job, scalar, "Queue <"+team+"> has insufficient <"+task.names+"> quota: requested <1>, total would be <")
		}
		By("charging a pod that names no card for the card of its node")
		f.cardJob(ctx, "unnamed", team, cardTask{})
		f.expectOn(ctx, "unnamed", "h20", 1)
		expectCards(ctx, team, a100+"=3", h100+"=8", h20+"=2", h20+"/mps-96g*1/2=2", h20+"/mig-1g.18gb-mixed=3", ascend+"=8")
	})

	It("count in every queue above", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		org := f.cardQueue(ctx, "org", "root", `{"NVIDIA-H100-80GB": 4}`)
		left, right := f.cardQueue(ctx, "left", org, `{"NVIDIA-H100-80GB": 3}`), f.cardQueue(ctx, "right", org, "")
		f.cardJob(ctx, "left", left, cardTask{names: h100, pods: 3})
		f.cardJob(ctx, "right", right, cardTask{names: h100})
		f.expectRunning(ctx, "left", 3)
		f.expectRunning(ctx, "right", 1)
		expectCards(ctx, org, h100+"=4")
		f.cardJob(ctx, "more", right, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "more", scalar, insufficient(org, h100, 1, 5, 4))
		f.deleteJob(ctx, "left")
		f.expectRunning(ctx, "more", 1)
		expectCards(ctx, org, h100+"=2")
	})

	It("are alternatives: the next one is used if the quota or the nodes of the first are full", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "a100", a100, 4)
		f.gpuNode(ctx, "h100", h100, 4)
		f.gpuNode(ctx, "rtx", rtx, 8) // otherwise, the cluster has too few nvidia.com/gpu to enqueue the jobs
		either := h100 + "|" + a100
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 2, "NVIDIA-A100-80GB": 8}`)

		By("preferring the first")
		f.cardJob(ctx, "first", team, cardTask{names: either, pods: 2})
		f.expectOn(ctx, "first", "h100", 2)
		By("using the second if the quota of the first is full")
		f.cardJob(ctx, "second", team, cardTask{names: either})
		f.expectOn(ctx, "second", "a100", 1)
		By("using the second if the nodes of the first are full")
		other := f.cardQueue(ctx, "other", "root", `{"NVIDIA-H100-80GB": 8, "NVIDIA-A100-80GB": 8}`)
		f.cardJob(ctx, "third", other, cardTask{names: either, pods: 4})
		f.expectOn(ctx, "third", "h100", 2)
		f.expectOn(ctx, "third", "a100", 2)
		expectCards(ctx, other, h100+"=2", a100+"=2")
		By("waiting if the quota of one and the nodes of the other are full")
		f.cardJob(ctx, "fourth", team, cardTask{names: either, count: 2})
		f.expectRefused(ctx, "fourth", scalar, insufficient(team, h100, 2, 4, 2)+"; there is quota for "+a100+", but no node for the pod: ")
		By("waiting if both quotas are full")
		setCards(ctx, team, `{"NVIDIA-H100-80GB": 2, "NVIDIA-A100-80GB": 1}`)
		f.expectRefused(ctx, "fourth", scalar, insufficient(team, h100, 2, 4, 2)+"; nor is there quota for another card that the pod may get: "+a100)
		f.deleteJob(ctx, "first")
		f.expectOn(ctx, "fourth", "h100", 1)
		expectCards(ctx, team, h100+"=2", a100+"=1")
	})

	It("are divided among a job's alternatives before it is enqueued", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "a100", a100, 8)
		f.gpuNode(ctx, "h100", h100, 8)
		either := h100 + "|" + a100
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 4, "NVIDIA-A100-80GB": 3}`)
		f.cardJob(ctx, "fits", team, cardTask{names: either, pods: 4}, cardTask{names: h100, count: 3})
		f.expectRunning(ctx, "fits", 5)
		expectCards(ctx, team, h100+"=4", a100+"=3")
		f.deleteJob(ctx, "fits")
		expectCards(ctx, team)

		By("refusing requests that fit one by one, but not together")
		f.cardJob(ctx, "together", team, cardTask{names: either, pods: 5}, cardTask{names: h100, count: 3})
		f.expectNotEnqueued(ctx, "together", scalar, insufficient(team, either, 5, 8, 7))
		By("refusing pods whose cards would have to be split")
		f.cardJob(ctx, "shares", team, cardTask{names: either, pods: 4, count: 2})
		f.expectNotEnqueued(ctx, "shares", scalar, "Queue <"+team+"> has insufficient <"+either+"> quota: requested <8>")
		f.cardJob(ctx, "pairs", team, cardTask{names: either, pods: 3, count: 2})
		f.expectRunning(ctx, "pairs", 3)
		f.deleteJob(ctx, "pairs")

		By("counting the annotation of a job whose templates request no card")
		f.cardJobWith(ctx, "says", team, func(job *batchv1alpha1.Job) {
			job.Annotations = map[string]string{"volcano.sh/card.request": `{"` + either + `": 8}`}
			delete(job.Spec.Tasks[0].Template.Spec.Containers[0].Resources.Requests, gpus)
			delete(job.Spec.Tasks[0].Template.Spec.Containers[0].Resources.Limits, gpus)
		}, cardTask{})
		f.expectNotEnqueued(ctx, "says", scalar, insufficient(team, either, 8, 8, 7))
	})

	It("are counted for Deployments, scaled up and down", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 3}`)
		template := cardTask{names: h100}.template()
		template.Labels = map[string]string{"app": "web"}
		template.Annotations["scheduling.volcano.sh/queue-name"] = team
		template.Spec.SchedulerName, template.Spec.RestartPolicy = "volcano", corev1.RestartPolicyAlways
		must(kube.AppsV1().Deployments(f.namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		}, metav1.CreateOptions{}))
		scale := func(n int32) {
			_, err := kube.AppsV1().Deployments(f.namespace).UpdateScale(ctx, "web", &autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: f.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: n}}, metav1.UpdateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		running := func() int {
			list := must(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"}))
			return len(list.Items)
		}
		Eventually(running).WithContext(ctx).Should(Equal(2))
		expectCards(ctx, team, h100+"=2")
		scale(5)
		Eventually(running).WithContext(ctx).Should(Equal(3))
		Eventually(func() bool { return warned(ctx, f.namespace, scalar, insufficient(team, h100, 1, 4, 3)) }).WithContext(ctx).Should(BeTrue())
		waitForCycles(ctx)
		Expect(running()).To(Equal(3))
		scale(1)
		Eventually(running).WithContext(ctx).Should(Equal(1))
		expectCards(ctx, team, h100+"=1")
		scale(3)
		Eventually(running).WithContext(ctx).Should(Equal(3))
		expectCards(ctx, team, h100+"=3")
	})

	It("are released by pods that end before their job", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 4}`)
		f.cardJob(ctx, "mixed", team, cardTask{names: h100, pods: 2, runFor: "1s"}, cardTask{names: h100, pods: 2})
		f.expectSucceeded(ctx, "mixed", 2)
		expectCards(ctx, team, h100+"=2")
		f.cardJob(ctx, "next", team, cardTask{names: h100, pods: 2})
		f.expectRunning(ctx, "next", 2)
		expectCards(ctx, team, h100+"=4")
	})

	It("are assigned to a gang as a whole", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 3)
		f.gpuNode(ctx, "a100", a100, 3)
		either := h100 + "|" + a100
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 8, "NVIDIA-A100-80GB": 8}`)
		other := f.cardQueue(ctx, "other", "root", `{"NVIDIA-H100-80GB": 8}`)
		f.cardJob(ctx, "gang", team, cardTask{names: either, pods: 3, count: 2})
		Eventually(func() int { return f.phase(ctx, "gang", corev1.PodPending) }).WithContext(ctx).Should(Equal(3))
		waitForCycles(ctx)
		expectCards(ctx, team)
		By("leaving the cards to other jobs while the gang waits")
		f.gpuNode(ctx, "rtx", rtx, 8) // otherwise, the cluster has too few nvidia.com/gpu to enqueue the jobs
		f.cardJob(ctx, "small", other, cardTask{names: h100, pods: 2})
		f.expectRunning(ctx, "small", 2)
		f.gpuNode(ctx, "more", a100, 4)
		f.expectRunning(ctx, "gang", 3)
		expectCards(ctx, team, a100+"=6")
		expectCards(ctx, other, h100+"=2")
	})

	It("pass to a pod of higher priority, and are never used by both", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		low, high := f.priorityClass(ctx, "low", 1), f.priorityClass(ctx, "high", 1000)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 2}`)
		prioritized := func(class string, available int32) func(*batchv1alpha1.Job) {
			return func(job *batchv1alpha1.Job) {
				startingWith(available)(job)
				job.Spec.PriorityClassName = class
				job.Spec.Tasks[0].Template.Spec.PriorityClassName = class
			}
		}
		f.cardJobWith(ctx, "low", team, prioritized(low, 1), cardTask{names: h100, pods: 2})
		f.expectRunning(ctx, "low", 2)
		watch := f.watchCards(gpus)
		f.cardJobWith(ctx, "high", team, prioritized(high, 1), cardTask{names: h100})
		f.expectRunning(ctx, "high", 1)
		f.expectRunning(ctx, "low", 1)
		expectCards(ctx, team, h100+"=2")
		Expect(watch.most()).To(Equal(2))
	})

	It("are counted in one ledger with DRA devices and resources", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "old", a100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-A100-80GB": 2}`)
		setQuota(ctx, team, limit(f.class, 1))
		f.cardJob(ctx, "old", team, cardTask{names: a100, pods: 2})
		f.submit(ctx, gang("new", team, 1))
		f.expectRunning(ctx, "old", 2)
		f.expectRunning(ctx, "new", 1)
		expectCards(ctx, team, a100+"=2")
		expectAllocated(ctx, team, f.class+"/count", 1)

		By("counting both for one job")
		setCards(ctx, team, `{"NVIDIA-A100-80GB": 3}`)
		f.cardJobWith(ctx, "both", team, func(job *batchv1alpha1.Job) {
			spec := &job.Spec.Tasks[1].Template.Spec
			spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("one")}}
			delete(spec.Containers[0].Resources.Requests, gpus)
			delete(spec.Containers[0].Resources.Limits, gpus)
		}, cardTask{names: a100}, cardTask{})
		f.expectNotEnqueued(ctx, "both", scalar, insufficient(team, f.class, 1, 2, 1))
		setQuota(ctx, team, limit(f.class, 2))
		f.expectRunning(ctx, "both", 2)
		expectCards(ctx, team, a100+"=3")
		expectAllocated(ctx, team, f.class+"/count", 2)
	})
})
