// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A scheduler that is killed", func() {
	It("never exceeds the quota of a queue during a burst of jobs", func(ctx context.Context) {
		const jobs, kills = 24, 4
		f := newFixture(ctx)
		parent := f.queue(ctx, "ml", "root", limit(f.class, 7))
		left := f.queue(ctx, "left", parent, limit(f.class, 5))
		right := f.queue(ctx, "right", parent, nil)
		devices := f.watchDevices()
		for i := range jobs {
			queue := []string{left, right}[i%2]
			f.submit(ctx, gang(fmt.Sprint("burst-", i), queue, int32(1+i%3)).runningFor(500*time.Millisecond))
		}

		for range kills {
			before := f.finished(ctx, jobs)
			Eventually(func() bool {
				return devices.current() > 0 && f.finished(ctx, jobs) > before || f.finished(ctx, jobs) == jobs
			}).WithContext(ctx).Should(BeTrue(), "progress of the burst")
			Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
			Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		}

		Eventually(func() int { return f.finished(ctx, jobs) }).WithContext(ctx).Should(Equal(jobs))
		Eventually(devices.current).WithContext(ctx).Should(BeZero())
		Expect(devices.most()).To(BeNumerically("<=", 7))
		Expect(devices.most()).To(BeNumerically(">", 3), "the burst did not fill the quota, so the test proves nothing")
	})

	It("refuses no pod that fits when it starts again", func(ctx context.Context) {
		const pods = 8
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, pods))
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.Restart(ctx, cluster.VolcanoScheduler) })
		for i := range pods {
			name := fmt.Sprint("one-", i)
			must(f.kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: asking(exactly(f.class, 1)),
			}, metav1.CreateOptions{}))
			f.pod(ctx, name, queue, using(name))
		}
		var refusals sync.Map
		followPods(f.namespace, func(pod *corev1.Pod, _ bool) {
			if _, condition := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled); condition != nil && condition.Status == corev1.ConditionFalse {
				refusals.Store(pod.Name, condition.Message)
			}
		})
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		for i := range pods {
			f.expectPodRuns(ctx, fmt.Sprint("one-", i))
		}
		refusals.Range(func(pod, why any) bool {
			Expect(why).To(BeNil(), "refusal of pod %s", pod)
			return true
		})
	})

	It("left half of their devices to two gangs, and starts one of them again although the quota is lower", func(ctx context.Context) {
		f := newFixture(ctx)
		f.class = f.model(ctx, "gpu")
		f.template(ctx, "gpu", exactly(f.class, 1))
		queue := f.queue(ctx, "team", "root", limit(f.class, 4))
		gangs := []string{"left", "right"}
		for _, name := range gangs {
			f.submit(ctx, gang(name, queue, 2).fromTemplate("gpu"))
		}
		last := func(gang string) (pod corev1.Pod) {
			if pods := f.pods(ctx, gang); len(pods) == 2 {
				pod = pods[1]
			}
			return pod
		}
		for _, name := range gangs {
			Eventually(func() int { return len(last(name).Status.ResourceClaimStatuses) }).WithContext(ctx).Should(Equal(1), "claims of a pod of gang %s", name)
		}
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.Restart(ctx, cluster.VolcanoScheduler) })
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		claims := kube.ResourceV1().ResourceClaims(f.namespace)
		for i, name := range gangs {
			pod := last(name)
			claim := *pod.Status.ResourceClaimStatuses[0].ResourceClaimName
			f.allocate(ctx, must(claims.Get(ctx, claim, metav1.GetOptions{})), "n", fmt.Sprint("gpu-", i))
			reserved := must(claims.Get(ctx, claim, metav1.GetOptions{}))
			reserved.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
			must(claims.UpdateStatus(ctx, reserved, metav1.UpdateOptions{}))
		}
		setQuota(ctx, queue, limit(f.class, 2))
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		Eventually(func() []int {
			return []int{f.phase(ctx, "left", corev1.PodRunning), f.phase(ctx, "right", corev1.PodRunning)}
		}).WithContext(ctx).Should(ConsistOf(2, 0), "running pods of each gang")
	})
})

// finished returns the number of jobs of the burst with only succeeded pods.
func (f *fixture) finished(ctx context.Context, jobs int) int {
	n := 0
	for i := range jobs {
		if f.phase(ctx, fmt.Sprint("burst-", i), corev1.PodSucceeded) == 1+i%3 {
			n++
		}
	}
	return n
}
