// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/allocation/allocationtest"
	"github.com/devicequota/devicequota/pkg/dra"
)

// fuzzCluster is a cluster that lives through all sessions of a run. Its objects are in the fake API servers, in the
// informers' stores, and in Volcano's cache. All of these change together.
type fuzzCluster struct {
	testing.TB
	*fuzzInput
	options fuzzOptions
	// extended says that DeviceClasses must offer an extended resource.
	extended bool
	// history says what happened, for the message of a failure.
	history []string

	kube    *fake.Clientset
	volcano *vcfake.Clientset
	version atomic.Int64
	// watches counts the watches that the plugin's reader has started.
	watches   sync.Map
	informers *fuzzInformers
	queueList toolscache.Indexer
	clock     *testclock.FakeClock

	scheduler *fuzzScheduler
	plugins   *Plugins
	stop      context.CancelFunc
	// offers are what the last session has shown on nodes.
	offers *dra.Offers
	// late are the pods that are bound after the next session.
	late []*schedulercache.BindContext

	pods   fuzzObjects[*corev1.Pod]
	nodes  fuzzObjects[*corev1.Node]
	groups fuzzObjects[*upstreamv1beta1.PodGroup]
	queues fuzzObjects[*schedulingv1beta1.Queue]
	// evictedFor has the pods for which others were evicted since the last change, as namespace/name.
	evictedFor map[string]bool
	events     *fuzzEvents
	// marked says that classes, slices, and templates are unchanged since they were last marked.
	marked bool
	// versions are the versions of the claims that the plugin had read before the session.
	versions map[string]string
	// created counts objects, for their names.
	created int
	// lost are claims that were deleted while they had devices.
	lost []*resourcev1.ResourceClaim
	// deallocated are claims before they were deallocated.
	deallocated []*resourcev1.ResourceClaim
	// cards has the card model that each pod with a node is charged for.
	cards map[types.UID]string
	// charged has the queue that each pod with a node, or being bound, is charged to.
	charged map[types.UID]string
	// payers has, for each claim with a record, the queue that paid when the last session opened.
	payers map[types.UID]string
	// lastCards and lastDRA have the last valid quotas of each queue.
	lastCards map[types.UID]map[string]int64
	lastDRA   map[types.UID]*schedulingv1beta1.DRAQuota
}

// fuzzObjects are objects of one kind, oldest first.
type fuzzObjects[T metav1.Object] []T

func (all fuzzObjects[T]) get(name string) (found T, ok bool) {
	for _, object := range all {
		if object.GetName() == name {
			return object, true
		}
	}
	return found, false
}

// named returns an object that exists.
func (all fuzzObjects[T]) named(name string) T {
	object, exists := all.get(name)
	if !exists {
		panic("no object " + name)
	}
	return object
}

func (all *fuzzObjects[T]) put(object T) {
	for i, o := range *all {
		if o.GetName() == object.GetName() {
			(*all)[i] = object
			return
		}
	}
	*all = append(*all, object)
}

func (all *fuzzObjects[T]) remove(name string) {
	*all = slices.DeleteFunc(*all, func(o T) bool { return o.GetName() == name })
}

func newFuzzCluster(t testing.TB, in *fuzzInput, extended bool) *fuzzCluster {
	c := &fuzzCluster{
		TB: t, fuzzInput: in, extended: extended, kube: fake.NewSimpleClientset(), volcano: vcfake.NewSimpleClientset(),
		queueList: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{}),
		clock:     testclock.NewFakeClock(time.Unix(10_000, 0)),
		cards:     map[types.UID]string{}, charged: map[types.UID]string{}, payers: map[types.UID]string{}, lastCards: map[types.UID]map[string]int64{}, lastDRA: map[types.UID]*schedulingv1beta1.DRAQuota{},
	}
	c.options = c.chooseOptions()
	c.likeAPIServer()
	allocationtest.PatchesAreUpdates(c.kube)
	c.start()
	return c
}

// note adds a line to the history.
func (c *fuzzCluster) note(format string, values ...any) {
	c.history = append(c.history, fmt.Sprintf(format, values...))
}

// fail ends the run with the failure and the history.
func (c *fuzzCluster) fail(format string, values ...any) {
	c.Helper()
	c.Fatalf("%s\noptions: %+v\nhistory:\n%s", fmt.Sprintf(format, values...), c.options, strings.Join(c.history, "\n"))
}

func (c *fuzzCluster) try(err error) {
	c.Helper()
	if err != nil {
		c.fail("%v", err)
	}
}

// likeAPIServer gives every change a new version, and refuses updates of old versions.
func (c *fuzzCluster) likeAPIServer() {
	c.kube.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		write, is := action.(clienttesting.UpdateAction) // or a CreateAction, which has the same methods
		if !is {
			return false, nil, nil
		}
		accessor, err := meta.Accessor(write.GetObject())
		if err != nil {
			return false, nil, err
		}
		if action.GetVerb() == "update" && accessor.GetResourceVersion() != "" {
			if now, err := c.kube.Tracker().Get(action.GetResource(), action.GetNamespace(), accessor.GetName()); err == nil {
				if there, err := meta.Accessor(now); err == nil && there.GetResourceVersion() != accessor.GetResourceVersion() {
					return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), accessor.GetName(), fmt.Errorf("it has changed"))
				}
			}
		}
		if accessor.GetName() == "" && action.GetVerb() == "create" {
			accessor.SetName(accessor.GetGenerateName() + c.nextVersion())
			accessor.SetUID(types.UID(accessor.GetName()))
		}
		accessor.SetResourceVersion(c.nextVersion())
		return false, nil, nil
	})
	c.kube.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		changes, err := c.kube.Tracker().Watch(action.GetResource(), action.GetNamespace())
		c.watches.Store(action.GetResource().Resource, true)
		return true, changes, err
	})
}

func (c *fuzzCluster) nextVersion() string { return strconv.FormatInt(c.version.Add(1), 10) }

// named returns a new name.
func (c *fuzzCluster) named(kind string) string {
	c.created++
	return fmt.Sprintf("%s%d", kind, c.created)
}

// meta returns the metadata of a new object.
func (c *fuzzCluster) meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID(fmt.Sprintf("%s-%d", name, c.version.Load())), ResourceVersion: c.nextVersion(),
		Annotations: map[string]string{}, Labels: map[string]string{}, CreationTimestamp: metav1.NewTime(c.clock.Now()),
	}
}

// putPod gives Volcano a copy of the pod, because Volcano writes the node of a pod into the object before it has decided.
func (c *fuzzCluster) putPod(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" { // a binding or the kubelet writes this
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		if pod.Status.Phase == corev1.PodRunning {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		}
	}
	c.readExtendedStatus(pod)
	pod.ResourceVersion = c.nextVersion()
	c.pods.put(pod)
	kind := corev1.SchemeGroupVersion.WithResource("pods")
	seen := pod.DeepCopy()
	if before := c.informers.pods.put(seen); before != nil {
		c.try(c.kube.Tracker().Update(kind, pod, pod.Namespace))
		c.scheduler.podChanged(before.(*corev1.Pod), seen)
		return
	}
	c.try(c.kube.Tracker().Add(pod))
	c.scheduler.podChanged(nil, seen)
}

func (c *fuzzCluster) deletePod(pod *corev1.Pod) {
	c.pods.remove(pod.Name)
	c.try(c.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), pod.Namespace, pod.Name))
	c.scheduler.podChanged(c.informers.pods.remove(pod).(*corev1.Pod), nil)
	delete(c.cards, pod.UID)
	delete(c.charged, pod.UID)
}

func (c *fuzzCluster) putGroup(group *upstreamv1beta1.PodGroup) {
	before, exists := c.groups.get(group.Name)
	group.ResourceVersion = c.nextVersion()
	c.groups.put(group)
	if exists {
		c.try(c.volcano.Tracker().Update(upstreamv1beta1.SchemeGroupVersion.WithResource("podgroups"), group, "ns"))
		c.scheduler.UpdatePodGroupV1beta1(before, group)
		return
	}
	c.try(c.volcano.Tracker().Add(group))
	c.scheduler.AddPodGroupV1beta1(group)
}

func (c *fuzzCluster) deleteGroup(group *upstreamv1beta1.PodGroup) {
	c.groups.remove(group.Name)
	c.try(c.volcano.Tracker().Delete(upstreamv1beta1.SchemeGroupVersion.WithResource("podgroups"), "ns", group.Name))
	c.scheduler.DeletePodGroupV1beta1(group)
}

func (c *fuzzCluster) putQueue(queue *schedulingv1beta1.Queue) {
	before, exists := c.queues.get(queue.Name)
	queue.ResourceVersion = c.nextVersion()
	c.queues.put(queue)
	c.try(c.queueList.Add(queue))
	if exists {
		c.scheduler.UpdateQueueV1beta1(withoutDRA(before), withoutDRA(queue))
		return
	}
	c.scheduler.AddQueueV1beta1(withoutDRA(queue))
	if queue.Name == "root" {
		_ = c.volcano.Tracker().Add(withoutDRA(queue)) // it may have existed before
	}
}

func (c *fuzzCluster) deleteQueue(queue *schedulingv1beta1.Queue) {
	c.queues.remove(queue.Name)
	c.try(c.queueList.Delete(queue))
	c.scheduler.DeleteQueueV1beta1(withoutDRA(queue))
}

// withoutDRA returns Volcano's view of a queue.
func withoutDRA(queue *schedulingv1beta1.Queue) *upstreamv1beta1.Queue {
	return &upstreamv1beta1.Queue{ObjectMeta: *queue.ObjectMeta.DeepCopy(), Spec: *queue.Spec.QueueSpec.DeepCopy(), Status: queue.Status}
}
