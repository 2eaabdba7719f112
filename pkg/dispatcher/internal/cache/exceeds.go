// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/labels"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/spread"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// requests counts for the admission webhook, whose requests come at any time and in any replica.
type requests struct {
	mu      sync.Mutex
	counter *needs.Counter
}

// Exceeds returns by how much a workload needs more than its binding was granted, by dimension. The error says why that
// cannot be counted.
func (c *Cache) Exceeds(template *workload.Template, rb *workv1alpha2.ResourceBinding) ([]binding.Amount, error) {
	c.requests.mu.Lock()
	defer c.requests.mu.Unlock()
	counter := c.requests.counter
	if _, _, err := c.begin(counter); err != nil {
		return nil, err
	}
	clusters, err := c.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	needed := counter.Of(template, spread.Of(rb, template.Replicas(), clusters), nil)
	if needed.Err != nil {
		return nil, needed.Err
	}
	return needs.Exceeds(counter.Dimensions(), needed.Needs, binding.Read(rb, nil).Grant), nil
}

// begin begins a round of a counter.
func (c *Cache) begin(counter *needs.Counter) ([]*schedulingv1beta1.Queue, map[string]framework.QueueLimits, error) {
	queues, err := c.queues.List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	classes, err := c.classes.List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	return queues, counter.Begin(needs.Inputs{Queues: queues, Classes: classes, Claims: claimReader{c.claims, c.templates}}), nil
}
