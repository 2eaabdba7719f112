// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	burstJobs = 60
	// heldJobs is the number of jobs that run until the burst is over. They use 18 of 28 cores, and any job of three pods fills the
	// queues beyond 20, regardless of how fast pods come and go.
	heldJobs = 9
)

// crashSpecs are about dispatchers that crash. They run one after another.
func crashSpecs() {
	AfterEach(func(ctx context.Context) {
		if CurrentSpecReport().Failed() {
			Expect(dispatchers["main"].Restart(ctx)).To(Succeed(), "for the specs that follow")
		}
	})

	It("a dispatcher that is killed again and again exceeds no quota, and releases each job once", func(ctx context.Context) {
		b := startBurst(ctx)
		for range 3 {
			b.expectProgress(ctx)
			Expect(dispatchers["main"].Kill()).To(Succeed())
			Expect(dispatchers["main"].Restart(ctx)).To(Succeed())
		}
		b.expectDone(ctx)
	})

	It("when the leader is killed, another dispatcher goes on", func(ctx context.Context) {
		standBy(ctx, dispatcherConfig("", ""))
		b := startBurst(ctx)
		b.expectProgress(ctx)
		killed := leader(ctx)
		Expect(dispatchers[killed].Kill()).To(Succeed())
		Expect(leader(ctx)).NotTo(Equal(killed))
		b.expectProgress(ctx)
		Expect(dispatchers[killed].Restart(ctx)).To(Succeed())
		b.expectDone(ctx)
	})

	It("a leader that stands still while another takes over does no harm when it goes on", func(ctx context.Context) {
		standBy(ctx, dispatcherConfig("", ""))
		b := startBurst(ctx)
		b.expectProgress(ctx)
		paused := leader(ctx)
		Expect(dispatchers[paused].Pause()).To(Succeed())
		Expect(leader(ctx)).NotTo(Equal(paused))
		b.expectProgress(ctx)
		Expect(dispatchers[paused].Resume()).To(Succeed())
		b.expectDone(ctx)
		// A dispatcher without its lease exits. A Deployment starts it again.
		Expect(dispatchers[paused].Restart(ctx)).To(Succeed())
	})
}

// standBy runs a second dispatcher until the spec ends.
func standBy(ctx context.Context, config string) {
	GinkgoHelper()
	startDispatcher(ctx, "standby", config)
	DeferCleanup(func(ctx context.Context) {
		Expect(dispatchers["standby"].Restart(ctx)).To(Succeed()) // a failed spec may have left it down
		endDispatcher("standby")
	})
}

// burst is many jobs in two queues below another one. They ask for four times the capacity. All but the first are short.
type burst struct {
	*fixture
	parent, left string
	names        []string
	// released is the number of releases so far.
	released int
}

func startBurst(ctx context.Context) *burst {
	GinkgoHelper()
	b := &burst{fixture: newFixture(ctx)}
	b.propagateAll(ctx)
	b.parent = b.queue(ctx, "org", "root", capable(cores("28")))
	b.left = b.queue(ctx, "left", b.parent, capable(cores("18")))
	right := b.queue(ctx, "right", b.parent)
	for i := range burstJobs {
		job := workload{name: fmt.Sprint("burst-", i), queue: []string{b.left, right}[i%2], pods: podsOf(i), runFor: briefly}
		if i < heldJobs {
			job.runFor = 0
		}
		if i == heldJobs {
			b.Eventually(func() []string { return b.replay(ctx).order }).WithContext(ctx).Should(ConsistOf(b.names), "the jobs that are held have been released")
		}
		b.volcanoJob(ctx, job)
		b.names = append(b.names, job.name)
	}
	return b
}

// podsOf returns the number of pods of the job with an index.
func podsOf(i int) int32 { return int32(1 + i%3) }

// expectProgress waits until more jobs have been released, or all of them.
func (b *burst) expectProgress(ctx context.Context) {
	GinkgoHelper()
	before := b.released
	b.Eventually(func() bool {
		b.released = len(b.replay(ctx).order)
		return b.released >= min(before+6, burstJobs)
	}).WithContext(ctx).Should(BeTrue(), "releases beyond %d", before)
}

// expectDone waits until all jobs have ended. It checks that each was released once and that the quotas held.
func (b *burst) expectDone(ctx context.Context) {
	GinkgoHelper()
	b.Eventually(func() []string {
		order := b.replay(ctx).order
		return slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return slices.Contains(order, name) })
	}).WithContext(ctx).WithTimeout(2*timeout).Should(BeEmpty(), "jobs that have not been released")
	for i, name := range b.names[:heldJobs] {
		b.expectRunning(ctx, name, int(podsOf(i)))
		b.finish(ctx, name)
	}
	var r *replay
	b.Eventually(func() tally {
		r = b.replay(ctx)
		return withoutZeros(r.inUse()[b.parent])
	}).WithContext(ctx).Should(BeEmpty(), "what is in use when all jobs have ended")
	b.Expect(r.order).To(ConsistOf(b.names), "each job is released once")
	b.Expect(r.peaks[b.parent]["cpu"]).To(BeNumerically(">", 20_000), "the burst did not fill the quota, so the test proves nothing")
}

func withoutZeros(t tally) tally {
	nonzero := tally{}
	for dimension, n := range t {
		if n != 0 {
			nonzero[dimension] = n
		}
	}
	return nonzero
}

// leader returns the name of the leading dispatcher. A dispatcher that has exited or is paused does not lead.
func leader(ctx context.Context) string {
	GinkgoHelper()
	name := ""
	Eventually(func() string {
		for candidate, d := range dispatchers {
			if metrics, err := metricsOf(ctx, d); err == nil && leads.MatchString(metrics) {
				name = candidate
			}
		}
		return name
	}).WithContext(ctx).ShouldNot(BeEmpty(), "the dispatcher that leads")
	return name
}

// leads matches controller-runtime's metric of the leader.
var leads = regexp.MustCompile(`(?m)^leader_election_master_status\{name="vc-dispatcher"\} 1$`)

// metricsOf returns the Prometheus metrics of a dispatcher.
func metricsOf(ctx context.Context, d *cluster.Dispatcher) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.MetricsURL(), nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Timeout: time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
