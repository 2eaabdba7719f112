// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation"
)

// expectSimulated compares what the scheduler says that queues have allocated with what a scheduler finds that knows only the objects of the cluster. The
// first one has kept its accounts since it started.
func (k *disturbedSoak) expectSimulated(ctx context.Context) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "cluster.yaml")
	Eventually(func(g Gomega) {
		output, err := tryDevicequota(ctx, "snapshot", "-f", file)
		g.Expect(err).NotTo(HaveOccurred(), output)
		state, err := clusterstate.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		outcome, err := simulation.Run(ctx, state, nil)
		g.Expect(err).NotTo(HaveOccurred())
		output, err = tryDevicequota(ctx, "tree", "-o", "json")
		g.Expect(err).NotTo(HaveOccurred(), output)
		g.Expect(k.shown(g, output)).To(Equal(k.simulated(outcome)), "seed %d", k.seed)
	}).WithContext(ctx).Should(Succeed())
}

// amounts are the devices that queues have allocated, without what they have none of.
type amounts map[string]map[v1alpha1.Dimension]string

func (a amounts) set(queue string, dimension v1alpha1.Dimension, amount resource.Quantity) {
	if amount.IsZero() || dimension.Kind == v1alpha1.Resource {
		return
	}
	if a[queue] == nil {
		a[queue] = map[v1alpha1.Dimension]string{}
	}
	a[queue][dimension] = amount.String()
}

func (k *disturbedSoak) shown(g Gomega, printed string) amounts {
	tree := &v1alpha1.QueueList{}
	g.Expect(json.Unmarshal([]byte(printed), tree)).To(Succeed(), printed)
	shown := amounts{}
	for _, queue := range tree.Items {
		for _, name := range k.running() {
			if queue.Name == name {
				for _, figures := range queue.Figures {
					shown.set(name, figures.Dimension, figures.Allocated)
				}
			}
		}
	}
	return shown
}

func (k *disturbedSoak) simulated(outcome *simulation.Outcome) amounts {
	totals := map[string]map[v1alpha1.Dimension]*resource.Quantity{}
	for _, name := range k.running() {
		totals[name] = map[v1alpha1.Dimension]*resource.Quantity{}
	}
	for _, workload := range outcome.Workloads {
		for _, charged := range workload.Charged {
			of := totals[workload.Queue]
			if of == nil {
				continue
			}
			if of[charged.Dimension] == nil {
				of[charged.Dimension] = &resource.Quantity{}
			}
			of[charged.Dimension].Add(charged.Amount)
		}
	}
	simulated := amounts{}
	for name, of := range totals {
		for dimension, amount := range of {
			simulated.set(name, dimension, *amount)
		}
	}
	return simulated
}

// running returns the queues in which pods stay after the soak.
func (k *disturbedSoak) running() []string {
	return []string{k.queues["a"], k.queues["b"], k.queues["c"]}
}
