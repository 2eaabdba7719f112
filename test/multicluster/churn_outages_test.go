// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// leaseLasts is longer than the lease of a dispatcher.
const leaseLasts = 30 * time.Second

// makeOutages stops dispatchers and disconnects members, and brings them back, until a time. At the end, all of them are back.
func (c *churn) makeOutages(ctx context.Context, until time.Time) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
	for time.Now().Before(until) {
		outage := pick(random, c.killOne, c.killLeader, c.killAll, c.pauseLeader, c.disconnect, c.disconnect, c.disconnect)
		outage(ctx, random)
		pause(ctx, time.Duration(random.IntN(8))*time.Second)
	}
}

// pause waits for the duration of an outage.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (c *churn) note(what string) { GinkgoWriter.Printf("%s %s\n", time.Now().Format(clock), what) }

func (c *churn) killOne(ctx context.Context, random *rand.Rand) {
	c.kill(ctx, random, pick(random, "main", "standby"))
}

func (c *churn) killLeader(ctx context.Context, random *rand.Rand) { c.kill(ctx, random, leader(ctx)) }

func (c *churn) killAll(ctx context.Context, random *rand.Rand) {
	c.kill(ctx, random, "main", "standby")
}

// kill kills dispatchers, and starts them again after a while.
func (c *churn) kill(ctx context.Context, random *rand.Rand, names ...string) {
	for _, name := range names {
		c.note("kill dispatcher " + name)
		Expect(dispatchers[name].Kill()).To(Succeed())
	}
	pause(ctx, time.Duration(random.IntN(6))*time.Second)
	for _, name := range names {
		Expect(dispatchers[name].Restart(ctx)).To(Succeed())
	}
}

// pauseLeader pauses the leader until another one leads, resumes it, and restarts it.
func (c *churn) pauseLeader(ctx context.Context, _ *rand.Rand) {
	name := leader(ctx)
	c.note("pause dispatcher " + name)
	Expect(dispatchers[name].Pause()).To(Succeed())
	pause(ctx, leaseLasts)
	c.note("resume dispatcher " + name)
	Expect(dispatchers[name].Resume()).To(Succeed())
	pause(ctx, 3*time.Second)
	Expect(dispatchers[name].Restart(ctx)).To(Succeed())
}

// disconnect disconnects a member for a while.
func (c *churn) disconnect(ctx context.Context, random *rand.Rand) {
	member := pick(random, east, west)
	c.note("disconnect member " + member)
	Expect(multicluster.Disconnect(ctx, member)).To(Succeed())
	pause(ctx, time.Duration(random.IntN(15))*time.Second)
	c.note("reconnect member " + member)
	Expect(multicluster.Reconnect(ctx, member)).To(Succeed())
}
