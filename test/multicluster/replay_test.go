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

// replay goes through the history of a namespace and sums up what is released in each queue after each change. It
// looks at specs, statuses, and Works only: none of the dispatcher's annotations.
type replay struct {
	sizer
	queues map[string]*schedulingv1beta1.Queue
	limits map[string]tally
	// former are the limits that queues had before, the oldest first.
	former    map[string][]former
	templates map[types.UID]template
	// releases is what has been on its way to members, by the permanent id of the binding.
	releases map[string]*release
	// order has the names of workloads each time that they were released.
	order []string
	// releasedBy has the queues that have released each workload, by name.
	releasedBy map[string][]string
	// peaks is the highest sum in each queue.
	peaks map[string]tally
	// raises are the changes that released more than before, by queue and dimension.
	raises map[string]map[string][]raise
	log    []entry
}

// former are limits that were in force until a time.
type former struct {
	until  time.Time
	limits tally
}

// template is a workload, and what its pods may use.
type template struct {
	object *unstructured.Unstructured
	size   tally
}

// entry is what happened, and what was released in each queue then.
type entry struct {
	change
	what  string
	inUse map[string]tally
}

func (e entry) String() string {
	return fmt.Sprintf("%s %d %s %s: %s; in use: %v", e.seen.Format(clock), e.revision, e.resource.Resource, e.object.GetName(), e.what, e.inUse)
}

// release is a binding, and what of it may run.
type release struct {
	binding *workv1alpha2.ResourceBinding
	// queue is the queue that the workload named when it was released.
	queue string
	// works is what each Work lets a member run.
	works    map[string]tally
	released bool
	finished bool
	// granted is what may run since the last time that scheduling was not suspended.
	granted tally
	// charged is what the dispatcher says that it has granted. A workload that shrinks and grows again within it takes nothing more.
	charged tally
	// decided is when the dispatcher took the snapshot on which it granted that, to the second. It is zero without a grant.
	decided time.Time
}

// replayed returns the replay of the changes of a namespace. The error has the history of the first moment at which a queue had more
// released than it may hold.
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
		if err == nil && c.resource != queueResource { // an administrator may lower a capability below what is in use
			err = r.check(c, before, after)
		}
		if err != nil && first == nil {
			first = fmt.Errorf("revision %d, %s %s: %w; what happened before:\n%s", c.revision, c.resource.Resource, c.object.GetName(), err, r.story())
		}
		before = after
	}
	return r, first
}

// story tells what happened last.
func (r *replay) story() string {
	var story strings.Builder
	for _, e := range r.log[max(0, len(r.log)-60):] {
		fmt.Fprintln(&story, e)
	}
	return story.String()
}

// check returns an error if a change has made a sum grow beyond a limit.
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

// queueLag is how much later than the API server a dispatcher may know of a queue, and the second to which a decision is dated.
const queueLag = 2 * time.Second

// decided returns when the queues were read on which a change was decided.
func (r *replay) decided(c change) time.Time {
	if c.resource == bindingResource {
		if at := r.release(c.object.GetLabels()[workv1alpha2.ResourceBindingPermanentIDLabel]).decided; !at.IsZero() && at.Before(c.seen) {
			return at.Add(-queueLag)
		}
	}
	return c.seen
}

// limit returns the highest limit that a queue has had since a time: an administrator may lower it while something is being granted.
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

// inUse returns what is released in each queue and in the queues below it.
func (r *replay) inUse() map[string]tally {
	sums := map[string]tally{}
	for _, b := range r.releases {
		r.charge(sums, b.queue, r.amount(b))
	}
	return sums
}

// amount returns what of a binding may run in members, or is charged. What has ended counts no more, although the dispatcher writes that a
// moment later.
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

// asked returns what the clusters of a binding may run by its template as it is now.
func (r *replay) asked(binding *workv1alpha2.ResourceBinding) tally {
	t := tally{}
	copies := int64(max(1, len(binding.Spec.Clusters)+len(binding.Spec.GracefulEvictionTasks)))
	if binding.Spec.Replicas > 0 && binding.Spec.Placement != nil && binding.Spec.Placement.ReplicaSchedulingType() == "Divided" {
		copies = 1
	}
	t.add(r.templates[binding.Spec.Resource.UID].size, copies)
	return t
}

// apply makes a change part of the state, and says what it means; nothing if that is not worth a word.
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
	for _, t := range r.templates { // which may have been there before
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
		return "", nil // what workloads depend on
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
		if b.queue == "" || len(binding.Spec.Clusters) == 0 { // what goes on while its growth is held stays where it was
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
