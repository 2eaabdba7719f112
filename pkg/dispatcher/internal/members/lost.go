// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

const (
	// surveyTakes is the time limit for the survey of a member.
	surveyTakes = 10 * time.Second
	// surveyAgainLimit is the maximum time between surveys of a member without lost objects. After the member has come back, the time
	// doubles with each survey: Karmada loses objects shortly afterwards.
	surveyAgainLimit = 10 * time.Minute
)

// byKarmada selects the objects that Karmada has created in a member.
const byKarmada = "karmada.io/managed=true"

// survey has the objects of a member that Karmada has lost.
type survey struct {
	found map[types.UID]lost
	// ready says that the member was reachable in the last round. Asks says that a survey is under way.
	ready, asks bool
	again       time.Time
	wait        time.Duration
	// told is the last logged error.
	told string
}

// lost is an object of a member that Karmada has lost.
type lost struct {
	framework.Lost
	// origin identifies the object on the control plane that it was made from.
	origin subject
}

// Await surveys the reachable members, and waits until they have answered or their time is over. Nothing else may be asked meanwhile.
func (r *Remains) Await() {
	r.surveyAll()
	r.looking.Wait()
}

// Lost returns the objects in members that Karmada has lost. For a member that does not answer, it returns the previous ones. It starts
// surveys of members that have come back, and of others from time to time. Next is when the next survey is due. It does not wait.
func (r *Remains) Lost() (all []framework.Lost, next time.Time) {
	r.surveyAll()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.surveys {
		if s.ready && !s.asks {
			next = earlier(next, s.again)
		}
		for _, l := range s.found {
			all = append(all, l.Lost)
		}
	}
	return all, next
}

// earlier returns the earlier of two times. Zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// surveyAll starts the surveys that are due. It forgets clusters that Karmada no longer has.
func (r *Remains) surveyAll() {
	clusters, err := r.Clusters.List(labels.Everything())
	if err != nil {
		return // it reads from memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	is := map[string]*survey{}
	for _, cluster := range clusters {
		s := r.surveys[cluster.Name]
		if s == nil {
			s = &survey{}
		}
		is[cluster.Name] = s
		ready := framework.Ready(cluster)
		if ready && !s.ready {
			s.again, s.wait = time.Time{}, 0
		}
		s.ready = ready
		if ready && !s.asks && time.Now().After(s.again) {
			s.asks = true
			r.looking.Go(func() { r.survey(s, cluster) })
		}
	}
	r.surveys = is
}

// survey asks a member for its objects and records the answer.
func (r *Remains) survey(s *survey, cluster *clusterv1alpha1.Cluster) {
	ctx, cancel := context.WithTimeout(r.ctx, surveyTakes) // the time includes the wait for a slot, to bound the time of Await
	defer cancel()
	var found map[types.UID]lost
	var err error
	select {
	case r.slots <- struct{}{}:
		found, err = r.find(ctx, s.found, cluster)
		<-r.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, told := surveyAgainLimit, ""
	if err == nil {
		s.found = found
	} else {
		told = err.Error()
	}
	if err != nil && told != s.told && r.ctx.Err() == nil {
		klog.InfoS("What a member cluster runs and Karmada has lost is not known", "cluster", cluster.Name, "err", err)
	}
	if len(s.found) > 0 {
		limit = lookAgainLimit
	}
	s.wait = min(max(lookAgain, 2*s.wait), limit)
	s.asks, s.told, s.again = false, told, time.Now().Add(s.wait)
	if r.ctx.Err() == nil {
		r.Changed()
	}
}

// find returns the objects of a member that Karmada has lost. Objects that were found before count until their pods have ended.
func (r *Remains) find(ctx context.Context, before map[types.UID]lost, cluster *clusterv1alpha1.Cluster) (map[types.UID]lost, error) {
	c, err := r.client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	found := map[types.UID]lost{}
	for _, kind := range workload.Kinds {
		if err := r.findKind(ctx, c, cluster.Name, kind, found); err != nil {
			return nil, err
		}
	}
	for uid, l := range before {
		if _, is := found[uid]; is {
			continue
		}
		switch left, err := l.origin.in(ctx, c); {
		case errors.Is(err, errAnother):
		case err != nil:
			return nil, err
		case left.Generation == "" && left.Pods > 0:
			found[uid] = l
		}
	}
	return found, nil
}

// findKind finds the lost objects of a kind. Karmada labels the objects that it creates. An object with a controller was made in the member.
func (r *Remains) findKind(ctx context.Context, c Client, cluster string, kind schema.GroupVersionKind, found map[types.UID]lost) error {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	var made []metav1.PartialObjectMetadata
	err := eachOf(ctx, c.Resource(resource), metav1.ListOptions{LabelSelector: byKarmada}, func(object *metav1.PartialObjectMetadata) {
		if object.Labels[workv1alpha2.ResourceBindingPermanentIDLabel] != "" && metav1.GetControllerOf(object) == nil {
			object.ManagedFields = nil
			made = append(made, *object)
		}
	})
	if apierrors.IsNotFound(err) {
		return nil // the member does not serve the kind
	}
	if err != nil {
		return err
	}
	for i := range made {
		object := &made[i]
		id := object.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
		switch sends, err := r.Sends(ctx, id, cluster); {
		case err != nil:
			return err
		case sends:
			continue
		}
		l, err := r.read(ctx, c, resource, object)
		if err != nil {
			return err
		}
		if l != nil {
			l.Cluster, l.APIVersion = cluster, kind.GroupVersion().String()
			l.origin = subject{l.APIVersion, kind.Kind, object.Namespace, object.Name, object.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation], id}
			found[object.UID] = *l
		}
	}
	return nil
}

// decoder knows the kinds that are read.
var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(workload.AddToScheme(scheme))
	return workload.Tolerant(serializer.NewCodecFactory(scheme).UniversalDeserializer())
}()

// read reads a whole object. It returns nil if the object is gone or has ended.
func (r *Remains) read(ctx context.Context, c Client, resource schema.GroupVersionResource, object *metav1.PartialObjectMetadata) (*lost, error) {
	whole, err := c.Objects.Resource(resource).Namespace(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && whole.GetUID() != object.UID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	status, err := json.Marshal(whole.Object["status"])
	if err != nil {
		return nil, err
	}
	if _, ended, _ := workload.Finished(whole.GroupVersionKind(), status); ended {
		return nil, nil
	}
	raw, err := whole.MarshalJSON()
	if err != nil {
		return nil, err
	}
	typed, _, err := decoder.Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	l := &lost{}
	l.Template, l.Err = workload.Of(typed, r.SchedulerNames)
	return l, nil
}
