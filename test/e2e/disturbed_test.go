// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/cluster/proxy"
)

const (
	// disturbedDuration is how long the view is disturbed, see soakFor.
	disturbedDuration = "25s"
	disturbedStep     = 200 * time.Millisecond
	// disturbedRound is the longest time until the view is made right, and all accounts are compared.
	disturbedRound = 2 * time.Minute
	// disturbedCrowd is the number of unfinished pods above which no more are created.
	disturbedCrowd = 40
	// disturbedCards is the card quota of the soak. Its node has twice as many.
	disturbedCards = 2
)

var _ = Describe("A scheduler with a late or wrong view of its cluster", func() {
	DescribeTable("exceeds no quota, gives no device to two claims, loses no charge, and goes on when its view is right again",
		func(ctx context.Context, seed func() uint64) {
			ownCluster(cluster.Options{})
			k := newDisturbedSoak(ctx, seed())
			duration := soakFor(disturbedDuration)
			for began := time.Now(); time.Since(began) < duration; {
				k.disturbFor(ctx, min(duration, disturbedRound))
				k.recover(ctx)
				k.expectAccountsOfWhatRuns(ctx)
			}
			AddReportEntry("seed, evictions, and faults", fmt.Sprint(k.seed, " ", k.evicted.count(), " ", k.proxy.Counts()), ReportEntryVisibilityFailureOrVerbose)
			Expect(k.evicted.count()).To(BeNumerically(">=", int(duration/(5*disturbedRound))), "so few evictions prove nothing")
			Expect(k.most["ml"]["big/count"]).To(BeNumerically(">=", 3), "the quota was never filled, so the test proves nothing")
			Expect(k.proxy.Counts()).To(SatisfyAll(HaveKey("late"), HaveKey("lose"), HaveKey("refused 409")), "so few faults prove nothing")
		},
		Entry("with a new seed", func() uint64 { return uint64(GinkgoRandomSeed()) }),
		Entry("with a seed that gave a device to two claims when the answer to an allocation was lost", func() uint64 { return 2 }),
	)
})

// disturbFor does random things for some time.
func (k *disturbedSoak) disturbFor(ctx context.Context, duration time.Duration) {
	step := time.NewTicker(disturbedStep)
	defer step.Stop()
	k.proxy.Set(k.faults())
	for began := time.Now(); time.Since(began) < duration; <-step.C {
		k.act(ctx, duration)
		k.check(ctx)
	}
}

// soakFor returns how long a soak lasts: the environment variable SOAK, for example SOAK=20m, or a short time in all other runs.
func soakFor(short string) time.Duration {
	GinkgoHelper()
	return must(time.ParseDuration(cmp.Or(os.Getenv("SOAK"), short)))
}

// disturbedSoak is a soak whose scheduler reads and writes through a proxy. Its accounts are read from the API server directly.
type disturbedSoak struct {
	*soak
	seed   uint64
	random *rand.Rand
	proxy  *proxy.Proxy
	// added is the number of pods and jobs so far.
	added     int
	devices   *holderWatch
	cards     *cardHolders
	evicted   *evictedPods
	cardQueue string
	change    *quotaChange
	// releases end what is held back.
	releases []func()
	// gone is the name of a node that is deleted at the moment, or empty.
	gone string
}

func newDisturbedSoak(ctx context.Context, seed uint64) *disturbedSoak {
	k := &disturbedSoak{soak: newSoak(ctx, newFixture(ctx)), seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
	By(fmt.Sprint("the seed is ", seed))
	k.gpuNode(ctx, "gpus", h100, 2*disturbedCards)
	k.cardQueue = k.soak.cardQueue(ctx, "cards", "root", fmt.Sprintf(`{%q: %d}`, h100, disturbedCards))
	k.devices, k.cards, k.evicted = watchHolders(k.namespace), watchCards(k.namespace), watchEvicted(k.namespace)
	k.proxy = interpose(ctx, seed)
	return k
}

// interpose restarts the scheduler of the cluster behind a proxy.
func interpose(ctx context.Context, seed uint64) *proxy.Proxy {
	GinkgoHelper()
	p := must(proxy.Start(schedulerKubeconfig(), seed))
	DeferCleanup(p.Stop)
	Expect(p.WriteKubeconfig(schedulerKubeconfig())).To(Succeed())
	Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
	return p
}

// check fails at the first violation, while its causes are still in the logs.
func (k *disturbedSoak) check(ctx context.Context) {
	GinkgoHelper()
	k.settle(ctx)
	for _, broken := range [][]string{k.violations(), k.devices.violations(), k.cards.violations()} {
		Expect(broken).To(BeEmpty(), "seed %d, faults %v", k.seed, k.proxy.Counts())
	}
}

// recover makes the view right, and waits until all pods have finished, except those that it starts itself just before. They run until they
// are deleted.
func (k *disturbedSoak) recover(ctx context.Context) {
	GinkgoHelper()
	By("the view is right again")
	if k.gone != "" {
		k.bringBack(ctx)
	}
	for name, shape := range staying {
		k.run(ctx, name, "stays", time.Hour, fromTemplate(shape))
	}
	k.submit(ctx, gang("b-gang", k.queues["b"], 1).fromTemplate("small"))
	k.proxy.Set(proxy.Faults{})
	for _, release := range k.releases {
		release()
	}
	k.releases = nil
	k.setCapability(ctx, k.full)
	Eventually(func() []string { return k.waiting(ctx) }, 2*timeout).WithContext(ctx).Should(BeEmpty(),
		"pods that do not run or finish, seed %d, faults %v", k.seed, k.proxy.Counts())
	k.check(ctx)
}

// staying has the shapes of pods that run until they are deleted, by queue. Their devices leave room for the others.
var staying = map[string]string{"a": "big", "c": "part"}

// waiting returns the pods that have not finished, unless they stay and run.
func (k *disturbedSoak) waiting(ctx context.Context) (names []string) {
	for _, pod := range must(kube.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded"})).Items {
		stays := strings.HasSuffix(pod.Name, "-stays") || strings.HasPrefix(pod.Name, "b-gang-")
		if !stays || pod.Status.Phase != corev1.PodRunning {
			names = append(names, pod.Name)
		}
	}
	for _, group := range must(vc.SchedulingV1beta1().PodGroups(k.namespace).List(ctx, metav1.ListOptions{})).Items {
		if group.Status.Phase == "Pending" || group.Status.Phase == "" {
			names = append(names, "PodGroup "+group.Name)
		}
	}
	return names
}

// expectAccountsOfWhatRuns compares the accounts of the scheduler with the allocated claims, and waits until both are empty after everything is
// deleted.
func (k *disturbedSoak) expectAccountsOfWhatRuns(ctx context.Context) {
	GinkgoHelper()
	for name, queue := range k.queues {
		Eventually(func(g Gomega) {
			g.Expect(k.byModel(account(ctx, queue, "allocated"))).To(Equal(k.charged(name)), "charge of queue %s", name)
		}).WithContext(ctx).Should(Succeed())
	}
	expectCards(ctx, k.cardQueue)
	k.expectSimulated(ctx)
	Eventually(func() int64 { return getQueue(ctx, k.queues["b"]).Status.Allocated.Cpu().Value() }).WithContext(ctx).Should(Equal(int64(1)), "status.allocated")
	k.deleteJob(ctx, "b-gang")
	for name := range staying {
		k.deletePod(ctx, name+"-stays")
	}
	for _, queue := range k.queues {
		expectAllocated(ctx, queue)
	}
	Eventually(func() int64 { return getQueue(ctx, k.queues["b"]).Status.Allocated.Cpu().Value() }).WithContext(ctx).Should(BeZero(), "status.allocated")
}
