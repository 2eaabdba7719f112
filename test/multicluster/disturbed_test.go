// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/test/cluster/proxy"
)

const (
	// disturbedDuration is how long the view is disturbed, unless the environment variable CHURN is set.
	disturbedDuration = "60s"
	// disturbedSettles is how long a workload that fits may wait after the faults. An informer whose watch was ended waits for up to a minute before it lists, and
	// a workload for 65 seconds for an update that the webhook has admitted, and that has failed afterwards.
	disturbedSettles = 3 * time.Minute
	// longestHold limits how long a watch is held back.
	longestHold = time.Minute
)

// watchedByDispatcher are the resources whose events are late or held back. The quotas do not change meanwhile: a dispatcher decides with the quotas
// that it knows.
var watchedByDispatcher = []string{"resourcebindings", "works", "deployments", "statefulsets", "jobs", "clusters", "queues"}

// disturbed is a churn whose dispatcher reads and writes through a proxy.
type disturbed struct {
	*churn
	proxy *proxy.Proxy
	// releases end what is held back.
	releases []func()
}

// disturbedSpecs are about a dispatcher whose requests and watches fail or are late. The invariants are read from the API servers directly.
func disturbedSpecs() {
	It("no queue runs more than it may hold, and nothing is left behind when the view is right again", func(ctx context.Context) {
		duration, err := time.ParseDuration(cmp.Or(os.Getenv("CHURN"), disturbedDuration))
		Expect(err).NotTo(HaveOccurred())
		By(fmt.Sprintf("the seed is %d: CHURN=%s -ginkgo.seed=%[1]d", GinkgoRandomSeed(), duration))
		d := &disturbed{proxy: interpose(ctx, dispatcherConfig("", "strictOrder: false"))}
		d.churn = newChurn(ctx)
		d.fill(ctx)
		step := time.NewTicker(churnStep)
		defer step.Stop()
		d.proxy.Set(d.faults())
		for until := time.Now().Add(duration); time.Now().Before(until); <-step.C {
			d.disturb(ctx, duration)
			d.act(ctx)
		}
		By("the view is right again")
		d.proxy.Set(proxy.Faults{})
		for _, release := range d.releases {
			release()
		}
		wrong := d.settle(ctx, disturbedSettles)
		r := d.replay(ctx)
		AddReportEntry("disturbed", fmt.Sprintf("%d workloads, peak %v, faults %v", d.created, r.peaks[d.parent], d.proxy.Counts()))
		Expect(wrong).To(BeEmpty(), "what is wrong %s after the faults", disturbedSettles)
		Expect(d.proxy.Counts()).To(SatisfyAll(HaveKey("late"), HaveKey("lose"), HaveKey("dropped"), HaveKey("refused 500"), HaveKey("stall")), "so few faults prove nothing")
	})

	It("a workload does not grow while its binding cannot be held in time", stallHolds)

	It("a claim template that was replaced unnoticed gives nobody more devices than were granted", replaceUnnoticed)
}

// stallHolds lets no write of the dispatcher reach the API server while a workload is to grow beyond its quota.
func stallHolds(ctx context.Context) {
	p := interpose(ctx, dispatcherConfig("", ""))
	f := newFixture(ctx)
	f.propagateAll(ctx)
	team := f.queue(ctx, "team", "root", capable(cores("2")))
	f.deployment(ctx, workload{name: "grows", queue: team, pods: 2})
	f.expectRunning(ctx, "grows", 2)
	grow := func() error {
		_, err := hub.kube.AppsV1().Deployments(f.namespace).Patch(ctx, "grows", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
		return err
	}
	p.Set(proxy.Faults{Stall: 1})
	f.Expect(grow()).To(MatchError(And(ContainSubstring("so its ResourceBinding must be held first"), ContainSubstring("Try again"))))
	p.Set(proxy.Faults{})
	f.Eventually(grow).WithContext(ctx).Should(Succeed())
	f.expectNotified(ctx, deployments, "grows", "GrowthHeld", insufficient(team, "cpu", 3, 3, 2))
}

// replaceUnnoticed replaces a claim template before a workload is granted room, while the dispatcher sees the former one.
func replaceUnnoticed(ctx context.Context) {
	p := interpose(ctx, dispatcherConfig("", ""))
	f := newFixture(ctx)
	f.propagateAll(ctx)
	team := f.queue(ctx, "team", "root", withDevices(deviceClass, 1, nil))
	f.template(ctx, "one", 1)
	f.template(ctx, "replaced", 1)
	f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 1, claimTemplate: "one"})
	f.expectRunning(ctx, "filler", 1)
	f.volcanoJob(ctx, workload{name: "waits", queue: team, pods: 1, claimTemplate: "replaced"})
	f.expectHeld(ctx, volcanoJobs, "waits", scalar, insufficient(team, deviceClass, 1, 2, 1))

	release := p.Hold("resourceclaimtemplates")
	DeferCleanup(release)
	f.Expect(hub.kube.ResourceV1().ResourceClaimTemplates(f.namespace).Delete(ctx, "replaced", metav1.DeleteOptions{})).To(Succeed())
	f.template(ctx, "replaced", 2)
	before := p.Counts()[readsTemplates]
	f.finish(ctx, "filler")
	f.Eventually(func() int { return p.Counts()[readsTemplates] }).WithContext(ctx).Should(BeNumerically(">=", before+2), "the dispatcher reads what it is about to grant, and again in the next cycle")
	f.expectNowhere(ctx, volcanoJobs, "waits")
	release()
	f.expectEvent(ctx, volcanoJobs.Kind, "waits", "NeverFits", insufficient(team, deviceClass, 2, 2, 1))
	f.expectNowhere(ctx, volcanoJobs, "waits")
}

// readsTemplates is how a proxy counts requests for claim templates.
const readsTemplates = "list resourceclaimtemplates"

// interpose runs the dispatcher behind a proxy until the spec ends.
func interpose(ctx context.Context, config string) *proxy.Proxy {
	GinkgoHelper()
	p, err := proxy.Start(filepath.Join(multicluster.State(), "kubeconfigs", "vc-dispatcher"), uint64(GinkgoRandomSeed()))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Stop)
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(p.WriteKubeconfig(file)).To(Succeed())
	endDispatcher("main")
	startDispatcher(ctx, "main", config, "--kubeconfig="+file)
	DeferCleanup(func(ctx context.Context) {
		endDispatcher("main")
		startDispatcher(ctx, "main", dispatcherConfig("", ""))
	})
	return p
}

// disturb does at random what networks and API servers do to a dispatcher.
func (d *disturbed) disturb(ctx context.Context, duration time.Duration) {
	for _, fault := range []struct {
		// every is the mean number of steps between two such faults.
		every int
		do    func()
	}{
		{8, func() { d.proxy.Set(d.faults()) }},
		{12, func() { d.holdBack(min(longestHold, duration/4)) }},
		{60, func() { d.crash(ctx) }},
	} {
		if d.random.IntN(fault.every) == 0 {
			fault.do()
		}
	}
}

// faults returns random faults. Each resource is late by another time.
func (d *disturbed) faults() proxy.Faults {
	lag := map[string]time.Duration{}
	for _, resource := range watchedByDispatcher {
		lag[resource] = time.Duration(1+d.random.IntN(3000)) * time.Millisecond
	}
	few := func() float64 { return pick(d.random, 0.03, 0.07, 0.14, 0.21) }
	return proxy.Faults{Lag: lag, Drop: few(), Refuse: few(), Lose: few(), Stall: few() / 3}
}

func (d *disturbed) holdBack(longest time.Duration) {
	release := d.proxy.Hold(pick(d.random, watchedByDispatcher...))
	d.releases = append(d.releases, release)
	time.AfterFunc(time.Duration(d.random.Int64N(int64(longest))), release)
}

// crash kills the dispatcher. It starts without refusals, because a process that cannot start ends, and nothing starts it again here.
func (d *disturbed) crash(ctx context.Context) {
	Expect(dispatchers["main"].Kill()).To(Succeed())
	d.proxy.Set(proxy.Faults{})
	Expect(dispatchers["main"].Restart(ctx)).To(Succeed())
}

// act makes one change that leaves the quotas as they are.
func (d *disturbed) act(ctx context.Context) {
	act := d.change
	switch n := d.random.IntN(10); {
	case len(d.workloads) == 0 || n < 4 && len(d.workloads) < churnWorkloads:
		act = d.create
	case n < 6 || len(d.workloads) >= churnWorkloads:
		act = d.remove
	}
	if what, err := act(ctx); err != nil {
		GinkgoWriter.Printf("%s %s: %v\n", time.Now().Format(clock), what, err)
	}
}
