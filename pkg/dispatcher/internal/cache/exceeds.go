// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/labels"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/spread"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// requests counts for requests to the admission webhook. They come at any time and in any replica.
type requests struct {
	mu      sync.Mutex
	counter *needs.Counter
}

// Exceeds returns by how much a workload exceeds the grant of its binding, by dimension. The error says why the needs cannot be
// counted, or that the queue forbids something that the workload asks for.
func (c *Cache) Exceeds(template *workload.Template, rb *workv1alpha2.ResourceBinding) (more []binding.Amount, err error) {
	return c.exceedsWith(template, rb, c.claimReader())
}

// exceedsWith is Exceeds with a reader for claims and claim templates.
func (c *Cache) exceedsWith(template *workload.Template, rb *workv1alpha2.ResourceBinding, claims dra.ClaimReader) (more []binding.Amount, err error) {
	err = c.compare(template, rb, claims, func(dimensions *ledger.Dimensions, needed framework.Needs, grant *binding.Grant, way []framework.QueueLimits) error {
		more = needs.Exceeds(dimensions, needed, grant)
		return needs.Forbidden(dimensions, needed, way, c.CardQuotaRequired)
	})
	if err != nil {
		return nil, err
	}
	return more, nil
}

// Spares reports whether the grant of a binding exceeds the needs of a workload, or may exceed them.
func (c *Cache) Spares(template *workload.Template, rb *workv1alpha2.ResourceBinding) (spares bool) {
	err := c.compare(template, rb, c.claimReader(), func(dimensions *ledger.Dimensions, needed framework.Needs, grant *binding.Grant, _ []framework.QueueLimits) error {
		spares = grant != nil && (len(needs.FromGrant(dimensions, grant.Amounts).Beyond(needed.Settled, nil)) > 0 ||
			len(needs.OneCopy(dimensions, grant).Beyond(needed.Copy, nil)) > 0) // clusters that wait for their copies have nothing
		return nil
	})
	return spares || err != nil
}

// compare counts the needs of a workload with a reader for claims and claim templates. It calls a function with the needs, the grant,
// and the limits of the queues on the path of the grant.
func (c *Cache) compare(template *workload.Template, rb *workv1alpha2.ResourceBinding, claims dra.ClaimReader,
	with func(*ledger.Dimensions, framework.Needs, *binding.Grant, []framework.QueueLimits) error,
) error {
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	counter := c.requests.counter
	queues, limits, err := c.begin(counter, claims)
	if err != nil {
		return err
	}
	clusters, err := c.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	grant := binding.Read(rb, nil).Grant
	to := spread.Retained(spread.Of(rb, grant, template, clusters), rb, template, c.worksOf(rb), clusters)
	needed := counter.Of(template, to, nil)
	if needed.Err != nil {
		return needed.Err
	}
	var way []framework.QueueLimits
	if grant != nil {
		way = onTheWay(queues, limits, grant.Queue)
	}
	return with(counter.Dimensions(), needed.Needs, grant, way)
}

// onTheWay returns the limits of a queue and of all queues above it.
func onTheWay(queues []*schedulingv1beta1.Queue, limits map[string]framework.QueueLimits, name string) []framework.QueueLimits {
	parents := map[string]string{}
	for _, queue := range queues {
		if queue.Name != quota.Root {
			parents[queue.Name] = cmp.Or(queue.Spec.Parent, quota.Root)
		}
	}
	var way []framework.QueueLimits
	for range len(queues) + 1 { // a cycle of queues has no end
		way = append(way, limits[name])
		if name = parents[name]; name == "" {
			break
		}
	}
	return way
}

// begin begins a round of a counter that reads claims and claim templates.
func (c *Cache) begin(counter *needs.Counter, claims dra.ClaimReader) ([]*schedulingv1beta1.Queue, map[string]framework.QueueLimits, error) {
	queues, err := c.queues.List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	classes, err := c.classes.List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	return queues, counter.Begin(needs.Inputs{Queues: queues, Classes: classes, Claims: claims}), nil
}
