// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A scheduler whose ClusterRole lacks a permission", func() {
	It("names it, is not ready, and goes on when the permission is granted", func(ctx context.Context) {
		own := must(cluster.Start(context.Background(), cluster.Options{
			Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")}, SchedulerArgs: []string{"--schedule-period=20ms"},
		}))
		DeferCleanup(own.Stop)
		f := &fixture{namespace: "default", kube: kubernetes.NewForConfigOrDie(own.Config())}
		ready := func() string {
			code, body := get(ctx, own.SchedulerReadyURL())
			return fmt.Sprint(code, " ", body)
		}
		Eventually(ready).WithContext(ctx).Should(Equal("200 ok"))

		const resource = "resourceclaimtemplates"
		role := must(f.kube.RbacV1().ClusterRoles().Get(ctx, "volcano-scheduler", metav1.GetOptions{}))
		complete := role.DeepCopy()
		for i := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
		}
		must(f.kube.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{}))
		mayList := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:volcano-system:volcano-scheduler",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: resourcev1.GroupName, Resource: resource},
		}}
		Eventually(func() (bool, error) { // the API server reads roles with a delay
			review, err := f.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, mayList, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed, err
		}).WithContext(ctx).Should(BeFalse())
		Expect(own.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())

		missing := SatisfyAll(
			ContainSubstring("resourceclaimtemplates.resource.k8s.io cannot be read: resourceclaimtemplates.resource.k8s.io is forbidden"),
			ContainSubstring(`cannot list resource "resourceclaimtemplates"`),
			ContainSubstring("allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml"))
		Eventually(ready).WithContext(ctx).Should(SatisfyAll(HavePrefix("503 "), missing))
		must(f.kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: asking(exactly("nvidia-h100", 1)),
		}, metav1.CreateOptions{}))
		f.pod(ctx, "waiting", "default", using("one"))
		Eventually(func(g Gomega) {
			pod, err := f.kube.CoreV1().Pods(f.namespace).Get(ctx, "waiting", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", corev1.PodScheduled), HaveField("Message", missing))))
		}).WithContext(ctx).Should(Succeed())

		update(ctx, f.kube.RbacV1().ClusterRoles(), role.Name, func(now *rbacv1.ClusterRole) { now.Rules = complete.Rules })
		Eventually(ready).WithContext(ctx).Should(Equal("200 ok"))
		f.expectPodRuns(ctx, "waiting")
	})
})
