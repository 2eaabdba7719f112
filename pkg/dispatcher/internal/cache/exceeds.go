// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"

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

// Webhook counts for requests to an admission webhook. They come at any time and in any replica. Users make any number of requests about workloads, and
// the few processes of Karmada that write bindings must not wait behind them.
type Webhook struct {
	*turns
	cache   *Cache
	counter *needs.Counter
}

func newWebhook(c *Cache) *Webhook { return &Webhook{newTurns(), c, needs.New()} }

// Exceeds returns by how much a workload exceeds the grant of its binding, by dimension. The error says why the needs cannot be
// counted, or that the queue forbids something that the workload asks for.
func (v *Webhook) Exceeds(template *workload.Template, rb *workv1alpha2.ResourceBinding) (more []binding.Amount, err error) {
	err = v.request(template.Namespace, func(r *request) error {
		more, err = r.exceeds(template, rb, binding.Read(rb, nil).Grant)
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

// request counts for one request from a namespace.
func (v *Webhook) request(namespace string, count func(*request) error) error {
	end, err := v.take(namespace)
	if err != nil {
		return err
	}
	defer end()
	return v.inTurn(v.cache.claimReader(), count)
}

// inTurn counts for one request whose turn it is.
func (v *Webhook) inTurn(claims dra.ClaimReader, count func(*request) error) error {
	_, limits, err := v.cache.begin(v.counter, claims)
	if err != nil {
		return err
	}
	clusters, err := v.cache.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	return count(&request{v.cache, v.counter, limits, clusters})
}

// exceeds is Exceeds for a part of a request.
func (r *request) exceeds(template *workload.Template, rb *workv1alpha2.ResourceBinding, grant *binding.Grant) ([]binding.Amount, error) {
	needed, err := r.count(template, rb, grant)
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

// Spares reports whether the grant of a binding exceeds the needs of a workload, or may exceed them. What Karmada has told clusters does not count as needed: a
// workload may have shrunk before Karmada has noticed, and nobody knows when clusters that are away hear of it.
func (v *Webhook) Spares(template *workload.Template, rb *workv1alpha2.ResourceBinding) (spares bool) {
	err := v.request(template.Namespace, func(r *request) error {
		grant := binding.Read(rb, nil).Grant
		to := r.spread(template, rb, grant)
		if !template.RetainsReplicas {
			to.Replicas = 0
		}
		counted := r.counter.Of(template, to, nil)
		if counted.Err != nil {
			return counted.Err
		}
		needed, dimensions := counted.Needs, r.counter.Dimensions()
		spares = grant != nil && (len(needs.FromGrant(dimensions, grant.Amounts).Beyond(needed.Settled, nil)) > 0 ||
			len(needs.OneCopy(dimensions, grant).Beyond(needed.Copy, nil)) > 0) // clusters that wait for their copies have nothing
		return nil
	})
	return spares || err != nil
}

// ClaimsLag reports whether the needs of a workload rest on other claims or claim templates than are stored.
func (v *Webhook) ClaimsLag(ctx context.Context, template *workload.Template, rb *workv1alpha2.ResourceBinding) (bool, error) {
	var read []framework.ClaimRead
	err := v.request(template.Namespace, func(r *request) error {
		needed, err := r.count(template, rb, binding.Read(rb, nil).Grant)
		read = needed.Read
		return err
	})
	if err != nil {
		return false, err
	}
	return v.cache.StoredClaims().Differ(ctx, template.Namespace, read)
}

// count returns the needs of a workload whose binding has a grant.
func (r *request) count(template *workload.Template, rb *workv1alpha2.ResourceBinding, grant *binding.Grant) (framework.Needs, error) {
	needed := r.counter.Of(template, r.spread(template, rb, grant), nil)
	return needed.Needs, needed.Err
}

func (r *request) spread(template *workload.Template, rb *workv1alpha2.ResourceBinding, grant *binding.Grant) framework.Spread {
	return spread.Retained(spread.Of(rb, grant, template, r.clusters), rb, template, r.worksOf(rb), r.clusters)
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
