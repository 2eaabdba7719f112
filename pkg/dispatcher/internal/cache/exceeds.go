// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"sync"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/labels"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/spread"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/dra"
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
	err = c.request(&c.requests, c.claimReader(), func(r *request) error {
		more, err = r.exceeds(template, rb)
		return err
	})
	return more, err
}

// request counts for one request, with one reader for claims and claim templates, and the queues of one time.
type request struct {
	*Cache
	counter  *needs.Counter
	limits   map[string]framework.QueueLimits
	clusters []*clusterv1alpha1.Cluster
}

// request counts for one request. Others of the same kind wait until it ends.
func (c *Cache) request(among *requests, claims dra.ClaimReader, count func(*request) error) error {
	among.mu.Lock()
	defer among.mu.Unlock()
	_, limits, err := c.begin(among.counter, claims)
	if err != nil {
		return err
	}
	clusters, err := c.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	return count(&request{c, among.counter, limits, clusters})
}

// exceeds is Exceeds for a part of a request.
func (r *request) exceeds(template *workload.Template, rb *workv1alpha2.ResourceBinding) ([]binding.Amount, error) {
	needed, grant, err := r.count(template, rb)
	if err != nil {
		return nil, err
	}
	var way []framework.QueueLimits
	if grant != nil {
		way = r.onTheWay(grant.Queue)
	}
	dimensions := r.counter.Dimensions()
	if err := needs.Forbidden(dimensions, needed, way, r.CardQuotaRequired); err != nil {
		return nil, err
	}
	return needs.Exceeds(dimensions, needed, grant), nil
}

// Spares reports whether the grant of a binding exceeds the needs of a workload, or may exceed them.
func (c *Cache) Spares(template *workload.Template, rb *workv1alpha2.ResourceBinding) (spares bool) {
	err := c.request(&c.requests, c.claimReader(), func(r *request) error {
		needed, grant, err := r.count(template, rb)
		if err != nil {
			return err
		}
		dimensions := r.counter.Dimensions()
		spares = grant != nil && (len(needs.FromGrant(dimensions, grant.Amounts).Beyond(needed.Settled, nil)) > 0 ||
			len(needs.OneCopy(dimensions, grant).Beyond(needed.Copy, nil)) > 0) // clusters that wait for their copies have nothing
		return nil
	})
	return spares || err != nil
}

// ClaimsLag reports whether the needs of a workload rest on other claims or claim templates than are stored.
func (c *Cache) ClaimsLag(ctx context.Context, template *workload.Template, rb *workv1alpha2.ResourceBinding) (bool, error) {
	var read []framework.ClaimRead
	err := c.request(&c.requests, c.claimReader(), func(r *request) error {
		needed, _, err := r.count(template, rb)
		read = needed.Read
		return err
	})
	if err != nil {
		return false, err
	}
	return c.StoredClaims().Differ(ctx, template.Namespace, read)
}

// count returns the needs of a workload, and the grant of its binding.
func (r *request) count(template *workload.Template, rb *workv1alpha2.ResourceBinding) (framework.Needs, *binding.Grant, error) {
	grant := binding.Read(rb, nil).Grant
	to := spread.Retained(spread.Of(rb, grant, template, r.clusters), rb, template, r.worksOf(rb), r.clusters)
	needed := r.counter.Of(template, to, nil)
	return needed.Needs, grant, needed.Err
}

// onTheWay returns the limits of a queue and of all queues above it.
func (r *request) onTheWay(name string) []framework.QueueLimits {
	var way []framework.QueueLimits
	for range len(r.limits) + 1 { // a cycle of queues has no end
		way = append(way, r.limits[name])
		queue, err := r.queues.Get(name)
		if err != nil || name == quota.Root {
			break
		}
		name = cmp.Or(queue.Spec.Parent, quota.Root)
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
	limits := counter.Begin(needs.Inputs{Queues: queues, Classes: classes, Claims: claims})
	for _, queue := range queues {
		if hidden := c.HidesDRA(queue); hidden != nil && queue.Spec.DRA == nil {
			l := limits[queue.Name]
			l.Err = errors.Join(l.Err, hidden)
			limits[queue.Name] = l
		}
	}
	return queues, limits, nil
}
