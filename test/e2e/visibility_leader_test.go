// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/cluster"
)

// electing are flags of replicas that quickly notice the loss of the leader. A leader on a slow machine still has time to renew its lease.
var electing = []string{
	"--leader-elect=true", "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=100ms",
}

var _ = Describe("the visibility endpoint of several replicas", func() {
	It("is that of the leader, to which the Service leads, until the leader ends or another one leads", func(ctx context.Context) {
		first, second, third := "192.0.2.7", "192.0.2.8", "192.0.2.9"
		Expect(os.Setenv("POD_IP", first)).To(Succeed())
		DeferCleanup(os.Unsetenv, "POD_IP")
		ownCluster(cluster.Options{SchedulerArgs: electing})
		expectEndpoint(ctx, first)

		other := direct(controlPlane.Config())
		address, replica := startReplica(second)
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
		_, last := startReplica(third)
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

// replica is an additional scheduler of the cluster.
type replica struct {
	command *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
}

func (r *replica) signal(s os.Signal) error { return r.command.Process.Signal(s) }

// startReplica runs another scheduler of the cluster, and returns the address of its visibility server.
func startReplica(podIP string) (string, *replica) {
	GinkgoHelper()
	address, release, err := cluster.ReserveAddress()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(release)
	state := controlPlane.State()
	r := &replica{ended: make(chan struct{}), command: exec.Command("../../bin/vc-scheduler", append([]string{
		"--kubeconfig=" + filepath.Join(state, "kubeconfigs", cluster.VolcanoScheduler), "--visibility-bind-address=" + address,
		"--scheduler-conf=" + filepath.Join(state, "scheduler", "volcano-scheduler.conf"), "--cache-dumper=false", "--schedule-period=20ms",
	}, electing...)...)}
	r.command.Env = append(os.Environ(), "POD_IP="+podIP, "DEBUG_SOCKET_DIR="+os.DevNull)
	r.command.Stderr = GinkgoWriter
	Expect(r.command.Start()).To(Succeed())
	go func() {
		defer close(r.ended)
		_ = r.command.Wait() // its exit code does not matter
	}()
	DeferCleanup(func() {
		_ = r.command.Process.Kill()
		<-r.ended
	})
	return address, r
}
