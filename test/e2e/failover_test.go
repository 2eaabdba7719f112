// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/cluster/proxy"
)

var _ = Describe("Of two schedulers, the one that waits", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		ownCluster(cluster.Options{SchedulerArgs: electing})
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
	})

	DescribeTable("goes on without a second holder of a device, an overrun, or a lost job after the leader", func(ctx context.Context, fail func(context.Context, *failover)) {
		f := newFailover(ctx)
		f.burst(ctx, "first")
		f.expectBinding(ctx, f.leader)
		began := time.Now()
		fail(ctx, f)
		f.burst(ctx, "second")
		f.expectBinding(ctx, f.standby)
		AddReportEntry("the next leader binds after", time.Since(began).Round(time.Millisecond).String(), ReportEntryVisibilityFailureOrVerbose)
		f.expectAllDone(ctx)
	},
		Entry("is killed", func(_ context.Context, f *failover) {
			Expect(f.leader.signal(syscall.SIGKILL)).To(Succeed())
		}),
		Entry("ends, as in a rolling update", func(_ context.Context, f *failover) {
			Expect(f.leader.signal(syscall.SIGTERM)).To(Succeed())
		}),
		Entry("stands still, and it does not write any more when it goes on", func(ctx context.Context, f *failover) {
			Expect(f.leader.signal(syscall.SIGSTOP)).To(Succeed())
			f.expectBinding(ctx, f.standby)
			before := f.leader.written()
			Expect(f.leader.signal(syscall.SIGCONT)).To(Succeed())
			Eventually(f.leader.ended).WithContext(ctx).Should(BeClosed(), "it ends")
			Expect(f.leader.written()).To(Equal(before), "writes that have reached the API server")
		}),
		Entry("is cut off from the API server, and it does not write any more when the network is back", func(ctx context.Context, f *failover) {
			restore := f.leader.proxy.Cut()
			DeferCleanup(restore)
			f.expectBinding(ctx, f.standby)
			before := f.leader.written()
			restore()
			Eventually(f.leader.ended).WithContext(ctx).Should(BeClosed(), "it ends")
			Expect(f.leader.written()).To(Equal(before), "writes that have reached the API server")
		}),
		Entry("has stopped to see claims, and is killed", func(ctx context.Context, f *failover) {
			DeferCleanup(f.leader.proxy.Hold("resourceclaims"))
			f.burst(ctx, "unseen")
			f.expectRenewals(ctx)
			Expect(f.leader.signal(syscall.SIGKILL)).To(Succeed())
		}),
	)

	DescribeTable("is not needed, and no job is lost, when", func(ctx context.Context, fail func(context.Context, *failover)) {
		f := newFailover(ctx)
		f.burst(ctx, "first")
		f.expectBinding(ctx, f.leader)
		fail(ctx, f)
		f.burst(ctx, "second")
		f.expectAllDone(ctx)
	},
		Entry("the leader sees no pods for a while", func(ctx context.Context, f *failover) { f.without(ctx, "pods") }),
		Entry("the leader sees no claims for a while", func(ctx context.Context, f *failover) { f.without(ctx, "resourceclaims") }),
		Entry("the leader sees no slices for a while", func(ctx context.Context, f *failover) { f.without(ctx, "resourceslices") }),
		Entry("etcd and the API server are killed and start again", func(ctx context.Context, f *failover) { f.restart(ctx, cluster.Etcd, cluster.APIServer) }),
	)
})

// failoverBurst is the number of pods and gangs of a burst. Their devices do not suffice for all at a time.
const failoverBurst = 25

// failover is a soak with two schedulers, each behind a proxy of its own.
type failover struct {
	*soak
	random          *rand.Rand
	devices         *holderWatch
	leader, standby *candidate
}

// candidate is a scheduler that leads or waits.
type candidate struct {
	*replica
	proxy *proxy.Proxy
}

func newFailover(ctx context.Context) *failover {
	GinkgoHelper()
	f := &failover{soak: newSoak(ctx, newFixture(ctx)), random: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))}
	f.devices = watchHolders(f.namespace)
	leases := kube.CoordinationV1().Leases("volcano-system")
	Expect(ignoreNotFound(leases.Delete(ctx, "volcano", metav1.DeleteOptions{}))).To(Succeed()) // that of the last case
	f.leader = startCandidate("192.0.2.7")
	f.leader.expectRenewal(ctx)
	f.standby = startCandidate("192.0.2.8")
	return f
}

func startCandidate(podIP string) *candidate {
	GinkgoHelper()
	c := &candidate{proxy: must(proxy.Start(schedulerKubeconfig(), uint64(GinkgoRandomSeed())))}
	DeferCleanup(c.proxy.Stop)
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(c.proxy.WriteKubeconfig(file)).To(Succeed())
	_, c.replica = startReplica(file, podIP)
	return c
}

// expectRenewal waits until the candidate renews its lease.
func (c *candidate) expectRenewal(ctx context.Context) {
	GinkgoHelper()
	before := c.proxy.Counts()["update leases"]
	Eventually(func() int { return c.proxy.Counts()["update leases"] }).WithContext(ctx).Should(BeNumerically(">", before), "renewals of the lease")
}

// written returns how many writes of each kind have reached the API server. The lease does not guard events, the lease itself, and the address of
// the visibility endpoint, which only its owner removes.
func (c *candidate) written() map[string]int {
	counts := c.proxy.Counts()
	maps.DeleteFunc(counts, func(kind string, _ int) bool {
		verb, resource, _ := strings.Cut(kind, " ")
		switch verb {
		case "create", "update", "patch", "delete":
			return slices.Contains([]string{"leases", "events", "endpointslices"}, resource)
		}
		return true
	})
	return counts
}

// burst creates random pods and gangs at once.
func (f *failover) burst(ctx context.Context, name string) {
	for i := range failoverBurst {
		f.add(ctx, f.random, fmt.Sprint(name, "-", i))
	}
}

// expectBinding waits until a candidate has bound more pods.
func (f *failover) expectBinding(ctx context.Context, c *candidate) {
	GinkgoHelper()
	before := c.proxy.Counts()["create pods/binding"]
	Eventually(func() int { return c.proxy.Counts()["create pods/binding"] }).WithContext(ctx).Should(BeNumerically(">", before+3), "bindings")
}

// expectRenewals waits until the leader has scheduled for a while.
func (f *failover) expectRenewals(ctx context.Context) {
	GinkgoHelper()
	for range 10 {
		f.leader.expectRenewal(ctx)
	}
}

// without holds back the events of a resource from the leader while there is work.
func (f *failover) without(ctx context.Context, resource string) {
	release := f.leader.proxy.Hold(resource)
	DeferCleanup(release)
	f.burst(ctx, "unseen")
	f.expectRenewals(ctx)
	release()
}

// restart kills components of the control plane while pods are bound, and starts them again. Kwok is restarted, too: it does not repeat a write
// that failed, as a kubelet does, and then a pod runs forever.
func (f *failover) restart(ctx context.Context, components ...string) {
	apiServerRestarted = true
	for _, component := range components {
		Expect(controlPlane.Kill(component)).To(Succeed())
	}
	for _, component := range append(components, cluster.Kwok) {
		Expect(controlPlane.Restart(ctx, component)).To(Succeed())
	}
}

func (f *failover) expectAllDone(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() int { return f.unfinished(ctx) }, 2*timeout).WithContext(ctx).Should(BeZero(), "pods that are pending or running")
	Expect(f.violations()).To(BeEmpty())
	Expect(f.devices.violations()).To(BeEmpty())
}
