// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"cmp"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// content is what a Work tells a cluster, and what the cluster runs of it.
type content struct {
	owner            string
	suspended, ended bool
	// retains says that the cluster decides how many replicas it has once it has any. Divided says that other clusters get a part of them.
	retains, divided bool
	// told is what the cluster must run. Has is what it runs of that template, and former what it runs of earlier ones.
	told, has pods
	former    []pods
}

// pods are identical pods of one generation of their workload.
type pods struct{ generation, replicas, each int64 }

func (p pods) cores() int64 { return p.replicas * p.each }

func (c *content) all() []pods { return append([]pods{c.has}, c.former...) }

func (c *content) replicas() (n int64) {
	for _, p := range c.all() {
		n += p.replicas
	}
	return n
}

func (c *content) cores() (n int64) {
	for _, p := range c.all() {
		n += p.cores()
	}
	return n
}

// beside returns the cores of pods that the cluster is about to delete, and that other clusters may have in their place already. Such pods are not counted.
func (c *content) beside() (cores int64) {
	if !c.divided {
		return 0
	}
	for more := c.replicas() - c.told.replicas; more > 0; more-- {
		cores += slices.MaxFunc(c.all(), func(a, b pods) int { return cmp.Compare(a.each, b.each) }).each
	}
	return cores
}

// isDone reports whether the cluster has done what it was told, apart from replacing pods.
func (c *content) isDone() bool {
	return c.has.generation == c.told.generation && c.has.each == c.told.each && c.replicas() == c.told.replicas
}

// ending are deleted pods that still run.
type ending struct {
	key, owner, cluster string
	pods
	// beside says that others take their place in clusters that the workload keeps. Those that end meanwhile are not counted.
	beside bool
	until  time.Time
}

func isDeployment(work *workv1alpha1.Work) bool { return strings.HasSuffix(work.Name, "-deployment") }

// apply makes a cluster do what it was told. Pods of a former template stay, and those that are added to a Deployment are made of one.
func (w *world) apply(work *workv1alpha1.Work, c *content) {
	if c.has.each != c.told.each && c.has.replicas > 0 {
		c.former, c.has.replicas = append(c.former, c.has), 0
	}
	c.has.generation, c.has.each = c.told.generation, c.told.each
	for c.replicas() > c.told.replicas {
		w.stop(work, w.takeOne(c), c.divided)
	}
	into := &c.has
	if isDeployment(work) && len(c.former) > 0 {
		into = &c.former[w.rand.IntN(len(c.former))]
	}
	into.replicas += c.told.replicas - c.replicas()
}

// replace makes a cluster replace one pod of a former template.
func (w *world) replace(work *workv1alpha1.Work, c *content) {
	has := c.has.replicas
	c.has.replicas = 0
	w.stop(work, w.takeOne(c), true)
	c.has.replicas = has + 1
}

// takeOne removes a random pod.
func (w *world) takeOne(c *content) pods {
	n := w.rand.Int64N(c.replicas())
	for i := range c.former {
		p := &c.former[i]
		if n -= p.replicas; n < 0 {
			one := pods{p.generation, 1, p.each}
			if p.replicas--; p.replicas == 0 {
				c.former = slices.Delete(c.former, i, i+1)
			}
			return one
		}
	}
	c.has.replicas--
	return pods{c.has.generation, 1, c.has.each}
}

// stop deletes pods. They run on for a while.
func (w *world) stop(work *workv1alpha1.Work, p pods, beside bool) {
	if p.replicas > 0 {
		until := w.clock.Add(time.Duration(w.rand.IntN(grace+1)) * time.Second)
		w.ending = append(w.ending, ending{work.Name, idOfWork(work), clusterOf(work), p, beside, until})
	}
}

func idOfWork(work *workv1alpha1.Work) string {
	return work.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
}
