// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers upstream's actions
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins" // registers upstream's plugins
	upstream "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	upstreampredicates "volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/plugins/capacity"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
)

// evictions are the measured questions: an action makes room for the jobs that wait in a full cluster.
var evictions = []struct {
	action, queue string
	nodes         int
	// held is how many devices each running pod has.
	held int
	// Each job that waits has so many pods, and each of these asks for so many devices.
	jobs, pods, devices int
	// again says that nobody can be evicted, and that the last session has found that out.
	again bool
}{
	{action: "reclaim", queue: "owner", nodes: 500, held: 1, jobs: 1, pods: 1, devices: 1},
	{action: "reclaim", queue: "owner", nodes: 500, held: 1, jobs: 1, pods: 250, devices: 8},
	{action: "reclaim", queue: "owner", nodes: 500, held: 1, jobs: 1, pods: 2000, devices: 1},
	{action: "preempt", queue: "borrower", nodes: 5000, held: 8, jobs: 1, pods: 1, devices: 8},
	{action: "reclaim", queue: "borrower", nodes: 500, held: 1, jobs: 100, pods: 1, devices: 1, again: true},
}

// BenchmarkEviction measures actions that evict. Upstream's do not know the devices of ResourceClaims: they are asked for
// as many of an extended resource.
func BenchmarkEviction(b *testing.B) {
	for _, e := range evictions {
		b.Run(fmt.Sprintf("op=%s/nodes=%d/jobs=%d/asked=%dx%d/again=%t", e.action, e.nodes, e.jobs, e.pods, e.devices, e.again), func(b *testing.B) {
			contenders := []*contender{theirs(e.action), ours(e.action, false), ours(e.action, true)}
			for _, c := range contenders {
				c.fullCluster, c.again = newFullCluster(b, c.claims, e.nodes, e.held), e.again
				c.victims = e.jobs * e.pods * e.devices / e.held
				c.ask(b, e.queue, e.jobs, e.pods, e.devices)
				c.prepare(b)
			}
			for range *repetitions {
				for _, c := range contenders {
					b.Run(c.name, c.measure)
				}
			}
		})
	}
}

// contender is an action, with its plugins, on a cluster of its own.
type contender struct {
	*fullCluster
	name     string
	claims   bool
	again    bool
	victims  int
	action   framework.Action
	builders map[string]framework.PluginBuilder
	ready    func() error
}

func theirs(action string) *contender {
	found, _ := framework.GetAction(action)
	return &contender{
		name: "devices=extended/plugin=upstream", action: found, ready: func() error { return nil },
		builders: map[string]framework.PluginBuilder{capacity.Name: upstream.New, predicates.Name: upstreampredicates.New},
	}
}

func ours(action string, claims bool) *contender {
	plugins := capacity.New(context.Background())
	c := &contender{name: "devices=extended/plugin=ours", claims: claims, ready: plugins.Ready, builders: plugins.Builders()}
	if claims {
		c.name = "devices=claims/plugin=ours"
	}
	c.builders[predicates.Name] = predicates.NewBuilder(capacity.Name)
	all := plugins.Actions()
	c.action = all[slices.IndexFunc(all, func(a framework.Action) bool { return a.Name() == action })]
	return c
}

// open opens a session.
func (c *contender) open(b *testing.B) *framework.Session {
	b.Helper()
	for name, builder := range c.builders {
		framework.RegisterPluginBuilder(name, builder)
	}
	return framework.OpenSession(c, shippedTiers(b), nil)
}

// shippedTiers returns the plugins of the shipped configuration.
func shippedTiers(b *testing.B) []conf.Tier {
	b.Helper()
	text, err := config.FS.ReadFile("scheduler/volcano-scheduler.conf")
	if err != nil {
		b.Fatal(err)
	}
	_, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(string(text))
	if err != nil {
		b.Fatal(err)
	}
	for _, tier := range tiers {
		for i := range tier.Plugins {
			if tier.Plugins[i].Name == gang.PluginName {
				// Upstream would evict no pod that stands alone.
				tier.Plugins[i].EnabledReclaimable = ptr.To(false)
			}
		}
	}
	return tiers
}

// prepare waits until everything has been read, and asks for the first time.
func (c *contender) prepare(b *testing.B) {
	b.Helper()
	c.start(b)
	framework.CloseSession(c.open(b))
	await(b, c.ready)
	ssn := c.open(b)
	c.action.Execute(ssn)
	c.check(b, ssn)
	framework.CloseSession(ssn)
}

// measure executes the action in one session after the other. Each has the same cluster.
func (c *contender) measure(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		if !c.again {
			c.askAnew()
		}
		ssn := c.open(b)
		b.StartTimer()
		c.action.Execute(ssn)
		b.StopTimer()
		c.check(b, ssn)
		framework.CloseSession(ssn)
		b.StartTimer()
	}
}

// check fails unless all that waits got its devices, and nobody was evicted who could stay. If there is nobody to evict, nothing must
// have changed.
func (c *contender) check(b *testing.B, ssn *framework.Session) {
	b.Helper()
	pipelined, evicted := 0, 0
	for _, job := range ssn.Jobs {
		pipelined += len(job.TaskStatusIndex[api.Pipelined])
		evicted += len(job.TaskStatusIndex[api.Releasing])
	}
	wantPipelined, wantEvicted := len(c.waiting), c.victims
	if c.again {
		wantPipelined, wantEvicted = 0, 0
	}
	if pipelined != wantPipelined || evicted != wantEvicted || c.evicted != evicted {
		b.Fatalf("%s: %d pods are pipelined and %d evicted, %d of them in the API server; want %d and %d", c.name, pipelined, evicted, c.evicted, wantPipelined, wantEvicted)
	}
}
