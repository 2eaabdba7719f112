// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"fmt"
	"math"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// replay sums up the released amounts in each queue after each change in the history of a namespace. They come from specs,
// statuses, and Works. The grants of the dispatcher only add what it charges, and the time of a decision.
type replay struct {
	sizer
	queues map[string]*schedulingv1beta1.Queue
	limits map[string]tally
	// former are earlier limits of queues, the oldest first.
	former    map[string][]former
	templates map[types.UID]template
	// releases are the bindings with what was released of them, by permanent ID.
	releases map[string]*release
	// order has the name of a workload for each of its releases.
	order []string
	// releasedBy has the queues that have released each workload, by name.
	releasedBy map[string][]string
	// peaks is the highest sum in each queue.
	peaks map[string]tally
	// raises are the changes that raised the released amount, by queue and dimension.
	raises map[string]map[string][]raise
	log    []entry
}

// former are limits that were in force until a time.
type former struct {
	until  time.Time
	limits tally
}

// template is a workload with the amounts that its pods may use.
type template struct {
	object *unstructured.Unstructured
	size   tally
}

// entry is a change with the released amounts in each queue.
type entry struct {
	change
	what  string
	inUse map[string]tally
}

func (e entry) String() string {
	return fmt.Sprintf("%s %d %s %s: %s; in use: %v", e.seen.Format(clock), e.revision, e.resource.Resource, e.object.GetName(), e.what, e.inUse)
}

// release is a binding with the amounts that may run.
type release struct {
	binding *workv1alpha2.ResourceBinding
	// queue is the queue that the workload named when it was released.
	queue string
	// works has what each Work allows a member to run.
	works    map[string]tally
	released bool
	finished bool
	// granted is what may run since scheduling was last not suspended.
	granted tally
	// charged is what the dispatcher has granted according to its annotation. A workload that shrinks and grows within it takes nothing more.
	charged tally
	// decided is the time of the snapshot for the grant, in seconds. It is zero without a grant.
	decided time.Time
}

// replayed returns the replay of the changes of a namespace. The error has the history up to the first moment at which a queue
// released more than it may hold.
func replayed(changes []change) (*replay, error) {
	r := &replay{
		sizer: sizer{map[string]tally{}}, queues: map[string]*schedulingv1beta1.Queue{}, limits: map[string]tally{}, former: map[string][]former{},
		templates: map[types.UID]template{}, releases: map[string]*release{}, releasedBy: map[string][]string{}, peaks: map[string]tally{}, raises: map[string]map[string][]raise{},
	}
	var first error
	before := map[string]tally{}
	for _, c := range changes {
		what, err := r.apply(c)
		after := r.inUse()
		if what != "" {
			r.log = append(r.log, entry{c, what, after})
		}
		if err == nil && c.resource != queueResource { // an administrator may lower a capability below the use
			err = r.check(c, before, after)
		}
		if err != nil && first == nil {
			first = fmt.Errorf("revision %d, %s %s: %w; what happened before:\n%s", c.revision, c.resource.Resource, c.object.GetName(), err, r.story())
		}
		before = after
	}
	return r, first
}

// story describes the last entries.
func (r *replay) story() string {
	var story strings.Builder
	for _, e := range r.log[max(0, len(r.log)-60):] {
		fmt.Fprintln(&story, e)
	}
	return story.String()
}

// check returns an error if a change raises a sum above a limit.
func (r *replay) check(c change, before, after map[string]tally) error {
	since := r.decided(c)
	for queue, sum := range after {
		r.peaks[queue] = most(r.peaks[queue], sum)
		for dimension, n := range sum {
			if n <= before[queue][dimension] {
				continue
			}
			limit := r.limit(queue, dimension, since)
			if r.raises[queue] == nil {
				r.raises[queue] = map[string][]raise{}
			}
			r.raises[queue][dimension] = append(r.raises[queue][dimension], raise{c.seen, limit})
			if n > limit {
				return fmt.Errorf("queue %s has %d of %s released, and may hold %d", queue, n, dimension, limit)
			}
		}
	}
	return nil
}

// queueLag is the maximum delay until a dispatcher knows a change of a queue, including the rounding of a decision's time.
const queueLag = 2 * time.Second

// decided returns the time at which the queues for a decision were read.
func (r *replay) decided(c change) time.Time {
	if c.resource == bindingResource {
		if at := r.release(c.object.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel]).decided; !at.IsZero() && at.Before(c.seen) {
			return at.Add(-queueLag)
		}
	}
	return c.seen
}

// limit returns the highest limit of a queue since a time: an administrator may lower it during a decision.
func (r *replay) limit(queue, dimension string, since time.Time) int64 {
	all := []tally{r.limits[queue]}
	for _, f := range r.former[queue] {
		if f.until.After(since) {
			all = append(all, f.limits)
		}
	}
	highest := int64(0)
	for _, limits := range all {
		limit, limited := limits[dimension]
		if !limited {
			return math.MaxInt64
		}
		highest = max(highest, limit)
	}
	return highest
}

// inUse returns the released amounts in each queue and the queues below it.
func (r *replay) inUse() map[string]tally {
	sums := map[string]tally{}
	for _, b := range r.releases {
		r.charge(sums, b.queue, r.amount(b))
	}
	return sums
}

// amount returns what of a binding may run in members or is charged. An ended workload counts as zero at once, although the dispatcher
// records that a moment later.
func (r *replay) amount(b *release) tally {
	if b.finished {
		return nil
	}
	return most(r.mayRun(b), b.charged)
}

// mayRun returns what of a binding may run in members.
func (r *replay) mayRun(b *release) tally {
	works := tally{}
	for _, work := range b.works {
		works.add(work, 1)
	}
	switch {
	case b.binding == nil:
		return works
	case b.released:
		return most(r.asked(b.binding), works)
	case len(b.binding.Spec.Clusters)+len(b.binding.Spec.GracefulEvictionTasks) > 0:
		return most(b.granted, works) // held while it runs: Karmada may still make a Work of it
	}
	return works
}

// asked returns what the clusters of a binding may run by its current template.
func (r *replay) asked(binding *workv1alpha2.ResourceBinding) tally {
	t := tally{}
	copies := int64(max(1, len(binding.Spec.Clusters)+len(binding.Spec.GracefulEvictionTasks)))
	if binding.Spec.Replicas > 0 && binding.Spec.Placement != nil && binding.Spec.Placement.ReplicaSchedulingType() == "Divided" {
		copies = 1
	}
	t.add(r.templates[binding.Spec.Resource.UID].size, copies)
	return t
}

// apply applies a change to the state. It returns a description of the change, "" if it is not relevant.
func (r *replay) apply(c change) (string, error) {
	switch c.resource {
	case queueResource:
		return "", r.applyQueue(c)
	case bindingResource:
		return r.applyBinding(c)
	case workResource:
		return r.applyWork(c)
	case claimTemplates:
		return "", r.applyClaimTemplate(c)
	default:
		return "", r.applyTemplate(c)
	}
}

func (r *replay) applyTemplate(c change) error {
	data, err := c.object.MarshalJSON()
	if err != nil {
		return err
	}
	size, err := r.size(data)
	if err != nil {
		return err
	}
	r.templates[c.object.GetUID()] = template{c.object, size}
	for _, b := range r.releases {
		if b.binding != nil && b.released && b.binding.Spec.Resource.UID == c.object.GetUID() {
			b.granted = r.asked(b.binding)
		}
	}
	return nil
}

func (r *replay) applyQueue(c change) error {
	name := c.object.GetName()
	if c.gone {
		delete(r.queues, name)
		delete(r.limits, name)
		return nil
	}
	queue := &schedulingv1beta1.Queue{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.object.Object, queue); err != nil {
		return err
	}
	if before, known := r.limits[name]; known {
		r.former[name] = append(r.former[name], former{c.seen, before})
	}
	r.queues[name], r.limits[name] = queue, capability(queue)
	return nil
}

func (r *replay) applyClaimTemplate(c change) error {
	if c.gone {
		return nil
	}
	template := &resourcev1.ResourceClaimTemplate{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.object.Object, template); err != nil {
		return err
	}
	r.claims[template.Name] = claim(&template.Spec.Spec)
	for _, t := range r.templates { // these may have been there before
		if err := r.applyTemplate(change{object: t.object}); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) release(id string) *release {
	if r.releases[id] == nil {
		r.releases[id] = &release{works: map[string]tally{}}
	}
	return r.releases[id]
}

func (r *replay) applyBinding(c change) (string, error) {
	binding := &workv1alpha2.ResourceBinding{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.object.Object, binding); err != nil {
		return "", err
	}
	id := binding.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
	if id == "" || len(binding.Spec.RequiredBy) > 0 && binding.Spec.Placement == nil {
		return "", nil // a dependency of workloads
	}
	b := r.release(id)
	b.finished = finished(binding, b.finished)
	b.charged, b.decided = nil, time.Time{}
	if grant := binding.Annotations[grantAnnotation]; grant != "" && !c.gone {
		var err error
		if b.charged, b.decided, err = grantedBy(grant); err != nil {
			return "", err
		}
	}
	if c.gone || binding.DeletionTimestamp != nil { // Karmada makes no more Works of it
		b.binding, b.released = nil, false
		return "being deleted", nil
	}
	was := b.released
	b.binding = binding
	b.released = binding.Spec.Suspension == nil || !ptr.Deref(binding.Spec.Suspension.Scheduling, false)
	if b.released && !was {
		b.finished = false
		if b.queue == "" || len(binding.Spec.Clusters) == 0 { // a workload that runs on while its growth is held stays in its queue
			b.queue = queueOf(r.templates[binding.Spec.Resource.UID].object)
		}
		r.order = append(r.order, binding.Spec.Resource.Name)
		r.releasedBy[binding.Spec.Resource.Name] = append(r.releasedBy[binding.Spec.Resource.Name], b.queue)
	}
	if b.released {
		b.granted = r.asked(binding)
	}
	return fmt.Sprintf("released %t, clusters %v, finished %t", b.released, binding.Spec.Clusters, b.finished), nil
}

func (r *replay) applyWork(c change) (string, error) {
	work := &workv1alpha1.Work{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.object.Object, work); err != nil {
		return "", err
	}
	works := r.release(work.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]).works
	name := work.Namespace + "/" + work.Name
	if c.gone {
		delete(works, name)
		return "gone", nil
	}
	if ptr.Deref(work.Spec.SuspendDispatching, false) {
		return "held back: the member keeps what it has", nil
	}
	sum := tally{}
	for _, manifest := range work.Spec.Workload.Manifests {
		size, err := r.size(manifest.Raw)
		if err != nil {
			return "", err
		}
		sum.add(size, 1)
	}
	works[name] = sum
	return fmt.Sprintf("lets %s run %v", work.Namespace, sum), nil
}
