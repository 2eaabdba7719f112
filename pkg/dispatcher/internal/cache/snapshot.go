// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/spread"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// known has the results for a binding, and their input. Unchanged bindings and objects keep their pointers.
type known struct {
	// round is the last snapshot that had the binding.
	round  uint64
	rb     *workv1alpha2.ResourceBinding
	object runtime.Object
	// uid is the UID of the object, id the permanent ID of the binding.
	uid, id  string
	works    []*workv1alpha1.Work
	clusters int64
	// missing says why there is no object. It is empty if there is one.
	missing string
	// workload is nil if the binding is not managed.
	workload *framework.Workload
	// counted has the needs of the workload, nil before they are counted.
	counted *needs.Counted
	// lags is the first snapshot of those since when the workload waits to be counted, zero if it is counted.
	lags uint64
}

// Snapshot takes a snapshot. Only one goroutine may call it.
func (c *Cache) Snapshot(now time.Time) (*framework.Snapshot, error) {
	s := &framework.Snapshot{
		Now: now, Queues: map[string]*schedulingv1beta1.Queue{},
		PriorityClasses: map[string]*schedulingv1.PriorityClass{}, NotReady: map[string]bool{},
		Appeared: c.appeared.others,
	}
	if err := c.readShared(s); err != nil {
		return nil, err
	}
	bindings, err := c.assumed.latest(func() ([]*workv1alpha2.ResourceBinding, error) { return c.bindings.List(labels.Everything()) })
	if err != nil {
		return nil, err
	}
	generation := c.clustersChanged.Load()
	clusters, err := c.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, cluster := range clusters {
		if !framework.Ready(cluster) {
			s.NotReady[cluster.Name] = true
		}
	}
	c.round++
	changed := c.changes.take()
	for _, rb := range bindings {
		c.renew(rb, clusters, generation, changed)
	}
	s.Workloads = c.inOrder()
	return s, nil
}

// inOrder returns all workloads with their needs, the oldest first. It starts from the order of the last snapshot, and forgets
// bindings that are gone.
func (c *Cache) inOrder() []*framework.Workload {
	c.order = slices.DeleteFunc(c.order, func(k *known) bool {
		gone := k.round != c.round
		if gone {
			delete(c.known, k.rb.UID)
		}
		return gone
	})
	slices.SortFunc(c.order, func(a, b *known) int {
		return cmp.Or(a.rb.CreationTimestamp.Compare(b.rb.CreationTimestamp.Time),
			strings.Compare(a.rb.Namespace, b.rb.Namespace), strings.Compare(a.rb.Name, b.rb.Name))
	})
	c.countAll()
	workloads := make([]*framework.Workload, 0, len(c.order))
	for _, k := range c.order {
		if k.workload != nil {
			workloads = append(workloads, k.workload)
		}
	}
	return workloads
}

// readShared reads the objects that all workloads share, and begins a round of the counter.
func (c *Cache) readShared(s *framework.Snapshot) error {
	queues, limits, err := c.begin(c.counter, c.claimReader())
	if err != nil {
		return err
	}
	s.Limits, s.Dimensions = limits, c.counter.Dimensions()
	for _, queue := range queues {
		s.Queues[queue.Name] = queue
	}
	priorityClasses, err := c.priorityClasses.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, class := range priorityClasses {
		s.PriorityClasses[class.Name] = class
	}
	return nil
}

// renew updates the results for a binding if something has changed. Changed has the UIDs and permanent IDs with a changed object or Work,
// and the UIDs of bindings with additional known clusters. A missing object is always looked up again, because its kind may be read later.
func (c *Cache) renew(rb *workv1alpha2.ResourceBinding, clusters []*clusterv1alpha1.Cluster, generation int64, changed ids) {
	k := c.known[rb.UID]
	if k == nil {
		k = &known{}
		c.known[rb.UID], c.order = k, append(c.order, k)
	}
	k.round = c.round
	moved := changed.has(string(rb.UID))
	if k.rb == rb && k.object != nil && k.clusters == generation && !changed.has(k.uid) && !changed.has(k.id) && !moved {
		return
	}
	object, understood, err := c.objects.shown(&rb.Spec.Resource)
	missing := ""
	if err != nil {
		missing = err.Error()
	}
	works := c.worksOf(rb)
	if k.rb == rb && k.object == object && slices.Equal(k.works, works) && k.clusters == generation && k.missing == missing && !moved {
		return
	}
	var template *workload.Template
	switch {
	case k.workload != nil && k.object == object && object != nil:
		template, err = k.workload.Template, k.workload.TemplateErr
	case understood && err == nil:
		template, err = workload.Of(object, c.config.SchedulerNames)
	case !understood:
		template = workload.OfBinding(rb)
	}
	before := *k
	*k = known{round: c.round, lags: k.lags, rb: rb, object: object, uid: uidOf(object), id: idOf(rb.Labels), works: works, clusters: generation, missing: missing}
	k.workload = c.workloadOf(rb, template, err, works, clusters)
	k.keepCount(&before)
}

// workloadOf returns the workload of a binding, nil if the dispatcher does not manage it.
func (c *Cache) workloadOf(rb *workv1alpha2.ResourceBinding, template *workload.Template, err error, works []*workv1alpha1.Work, clusters []*clusterv1alpha1.Cluster) *framework.Workload {
	state := binding.Read(rb, works)
	if state.Hold == nil && state.Grant == nil && (template == nil || !template.Managed(c.config.ManageWorkloadsWithoutQueue)) {
		return nil
	}
	if template == nil && err == nil {
		template = workload.WithoutPods(rb) // it had pods when it was held or granted
	}
	w := &framework.Workload{Binding: rb, State: state, Works: works, Template: template, TemplateErr: err, Created: rb.CreationTimestamp.Time}
	w.Queue, w.Places = c.queueOf(&state, template), c.places.of(rb, state.Grant, works)
	again := !state.Deleting && len(works) < len(binding.Clusters(rb)) // Karmada may still show how it has ended there before
	if !w.Returns() && (len(w.Left()) > 0 || again) {
		w.State.Finished = false // only its current clusters have reported the end
	}
	if template != nil {
		w.Spread = spreadOf(w, clusters)
	}
	return w
}

func spreadOf(w *framework.Workload, clusters []*clusterv1alpha1.Cluster) framework.Spread {
	s := spread.Retained(spread.Of(w.Binding, w.State.Grant, w.Template, clusters), w.Binding, w.Template, w.Works, clusters)
	s.Leaving += int64(len(w.Left()))
	if w.MovesAgain() {
		s.Leaving += int64(len(binding.Clusters(w.Binding)))
	}
	return s
}

// queueOf returns the queue that is charged.
func (c *Cache) queueOf(state *binding.State, template *workload.Template) string {
	switch {
	case state.Grant != nil:
		return state.Grant.Queue
	case template != nil && !template.Fallback && template.Queue != "":
		return template.Queue
	case state.Hold != nil && state.Hold.Queue != "" && (template == nil || template.Fallback || !template.Managed(c.config.ManageWorkloadsWithoutQueue)):
		return state.Hold.Queue // even if it names no queue any more: its user may not have access to the default queue
	default:
		return c.config.DefaultQueue
	}
}
