// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("the visibility endpoint of several replicas", func() {
	It("is that of the leader, to which the Service leads, until the leader ends or another one leads", func(ctx context.Context) {
		first, second, third := "192.0.2.7", "192.0.2.8", "192.0.2.9"
		Expect(os.Setenv("POD_IP", first)).To(Succeed())
		DeferCleanup(os.Unsetenv, "POD_IP")
		ownCluster(cluster.Options{SchedulerArgs: electing})
		expectEndpoint(ctx, first)

		other := direct(controlPlane.Config())
		address, replica := startReplica(schedulerKubeconfig(), second)
		other.Host = "https://" + address
		see := visibility(other)
		Eventually(func() bool { _, err := see.Queues(ctx); return apierrors.IsServiceUnavailable(err) }).WithContext(ctx).Should(BeTrue(), "the replica that waits says so")
		_, err := visibility(direct(controlPlane.Config())).Queues(ctx)
		Expect(err).NotTo(HaveOccurred(), "the leader answers")

		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		Eventually(func() error { _, err := see.Queues(ctx); return err }).WithContext(ctx).Should(Succeed())
		expectEndpoint(ctx, second)

		By("the replica stands still, and goes on when a third one leads")
		Expect(replica.signal(syscall.SIGSTOP)).To(Succeed())
		_, last := startReplica(schedulerKubeconfig(), third)
		expectEndpoint(ctx, third)
		Expect(replica.signal(syscall.SIGCONT)).To(Succeed())
		Eventually(replica.ended).WithContext(ctx).Should(BeClosed(), "it ends")
		expectEndpoint(ctx, third)

		Expect(last.signal(syscall.SIGTERM)).To(Succeed())
		Eventually(last.ended).WithContext(ctx).Should(BeClosed())
		expectEndpoint(ctx) // the leader has removed it before the Pod is gone
	}, NodeTimeout(2*timeout))
})

// expectEndpoint waits until the Service has exactly these addresses.
func expectEndpoint(ctx context.Context, addresses ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		slice, err := kube.DiscoveryV1().EndpointSlices("volcano-system").Get(ctx, "devicequota-visibility", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		var got []string
		for _, endpoint := range slice.Endpoints {
			got = append(got, endpoint.Addresses...)
		}
		g.Expect(got).To(Equal(addresses))
	}).WithContext(ctx).Should(Succeed())
}
