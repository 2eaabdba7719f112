// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// FuzzSnapshot checks that sessions read what they would without copies that are used again, whatever the cache and the sessions before have changed.
func FuzzSnapshot(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 1)))
		for range 60 {
			for range w.IntN(4) {
				w.change()
			}
			w.expect(w.cache.Snapshot(), w.copies.Snapshot(w.cache))
			session := w.copies.Open(unplugged{w.cache, w.copies}, nil, nil)
			w.expect(readBy(framework.OpenSession(w.cache, nil, nil)), readBy(session))
			w.expectViews(session)
			w.work(session)
			framework.CloseSession(session)
		}
	})
}

func readBy(session *framework.Session) *api.ClusterInfo {
	return &api.ClusterInfo{Nodes: session.Nodes, Jobs: session.Jobs, RevocableNodes: session.RevocableNodes, Queues: session.Queues}
}

// unplugged is a cache whose snapshots are those of copies.
type unplugged struct {
	*schedulercache.SchedulerCache
	copies *Cache
}

func (u unplugged) Snapshot() *api.ClusterInfo { return u.copies.Snapshot(u.SchedulerCache) }

// written is a StatusUpdater that writes nowhere.
type written struct{ schedulercache.StatusUpdater }

func (written) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) { return pod, nil }
func (written) UpdatePodGroup(group *api.PodGroup) (*api.PodGroup, error) {
	return group, nil
}
func (written) UpdateQueueStatus(*api.QueueInfo) error { return nil }

// evicted is an Evictor that deletes nothing.
type evicted struct{}

func (evicted) Evict(*corev1.Pod, string) error { return nil }

// world is a cache that changes at random.
type world struct {
	*testing.T
	*rand.Rand
	cache   *schedulercache.SchedulerCache
	copies  *Cache
	pods    map[string]*corev1.Pod
	groups  map[string]*schedulingv1beta1.PodGroup
	classes map[string]*schedulingv1.PriorityClass
	version int
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	cache := schedulercache.NewCustomMockSchedulerCache("volcano", nil, evicted{}, written{}, nil, &record.FakeRecorder{})
	w := &world{
		T: t, Rand: random, cache: cache, pods: map[string]*corev1.Pod{}, groups: map[string]*schedulingv1beta1.PodGroup{}, classes: map[string]*schedulingv1.PriorityClass{},
		copies: New(func() { t.Error("a session has used a copy that was not current") }),
	}
	w.copies.every = 3
	for range 4 {
		w.changeNode()
	}
	return w
}

func (w *world) change() {
	[]func(){w.changeNode, w.changePod, w.changePod, w.changePod, w.changeGroup, w.changeQueue, w.changeClass}[w.IntN(7)]()
}

func (w *world) meta(kind string, n int) metav1.ObjectMeta {
	w.version++
	name := fmt.Sprint(kind, w.IntN(n))
	return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: strconv.Itoa(w.version)}
}

func (w *world) changeNode() {
	node := &corev1.Node{ObjectMeta: w.meta("node", 5)}
	if w.IntN(8) == 0 && w.cache.Nodes[node.Name] != nil {
		w.must(w.cache.RemoveNode(node.Name))
		return
	}
	node.Labels = map[string]string{"version": node.ResourceVersion}
	if w.IntN(3) == 0 {
		node.Labels[schedulingv1beta1.RevocableZone] = "zone"
	}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(4+w.IntN(8)), ""), corev1.ResourcePods: resource.MustParse("20")}
	if w.IntN(2) == 0 {
		node.Status.Allocatable["example.com/gpu"] = resource.MustParse("4")
	}
	node.Status.Images = []corev1.ContainerImage{{Names: []string{fmt.Sprint("image", w.IntN(3))}, SizeBytes: 1}}
	w.must(w.cache.AddOrUpdateNode(node))
}

func (w *world) changePod() {
	meta := w.meta("pod", 24)
	before := w.pods[meta.Name]
	switch {
	case before == nil:
		pod := &corev1.Pod{ObjectMeta: meta}
		pod.Annotations = map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: fmt.Sprint("group", w.IntN(6))}
		pod.Labels = map[string]string{"role": fmt.Sprint(w.IntN(3))}
		pod.Spec.SchedulerName, pod.Status.Phase = "volcano", corev1.PodPending
		if w.IntN(2) == 0 {
			pod.Spec.Affinity = besideItself()
		}
		requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(w.IntN(3)), "")}
		if w.IntN(3) == 0 {
			requests["example.com/gpu"] = resource.MustParse("1")
		}
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
		w.place(pod)
		w.cache.AddPod(pod)
		w.pods[meta.Name] = pod
	case w.IntN(4) == 0:
		w.cache.DeletePod(before)
		delete(w.pods, meta.Name)
	default:
		pod := before.DeepCopy()
		pod.ResourceVersion = meta.ResourceVersion
		w.place(pod)
		w.cache.UpdatePod(before, pod)
		w.pods[meta.Name] = pod
	}
}

// place gives a pod what it may get next: a node, an end, or a deletion.
func (w *world) place(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "" && w.IntN(2) == 0:
		pod.Spec.NodeName, pod.Status.Phase = fmt.Sprint("node", w.IntN(5)), corev1.PodRunning
	case pod.Spec.NodeName != "" && w.IntN(4) == 0:
		pod.Status.Phase = corev1.PodSucceeded
	case w.IntN(6) == 0:
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
	}
}

func besideItself() *corev1.Affinity {
	term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "0"}}}
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
}

func byRole() []schedulingv1beta1.SubGroupPolicySpec {
	return []schedulingv1beta1.SubGroupPolicySpec{
		{Name: "first", MatchLabelKeys: []string{"role"}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "0"}}, MinSubGroups: ptr.To[int32](1)},
		{Name: "others", MatchLabelKeys: []string{"role"}, SubGroupSize: ptr.To[int32](2)},
	}
}

func (w *world) changeGroup() {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: w.meta("group", 6)}
	before := w.groups[group.Name]
	if before != nil && w.IntN(6) == 0 {
		w.cache.DeletePodGroupV1beta1(before)
		delete(w.groups, group.Name)
		return
	}
	group.Spec = schedulingv1beta1.PodGroupSpec{MinMember: int32(w.IntN(4)), Queue: fmt.Sprint("queue", w.IntN(3))}
	if w.IntN(2) == 0 {
		group.Spec.PriorityClassName = fmt.Sprint("class", w.IntN(3))
	}
	if w.IntN(6) == 0 {
		group.Spec.NetworkTopology = &schedulingv1beta1.NetworkTopologySpec{Mode: schedulingv1beta1.SoftNetworkTopologyMode}
	}
	if w.IntN(2) == 0 {
		group.Spec.SubGroupPolicy = byRole()[w.IntN(2):]
	}
	group.Status.Phase = []schedulingv1beta1.PodGroupPhase{schedulingv1beta1.PodGroupPending, schedulingv1beta1.PodGroupInqueue, schedulingv1beta1.PodGroupRunning}[w.IntN(3)]
	if w.IntN(2) == 0 {
		group.Status.Conditions = []schedulingv1beta1.PodGroupCondition{{Type: schedulingv1beta1.PodGroupScheduled, Message: group.ResourceVersion}}
	}
	if before == nil {
		w.cache.AddPodGroupV1beta1(group)
	} else {
		w.cache.UpdatePodGroupV1beta1(before, group)
	}
	w.groups[group.Name] = group
}

func (w *world) changeQueue() {
	meta := w.meta("queue", 3)
	w.cache.Lock()
	defer w.cache.Unlock()
	if id := api.QueueID(meta.Name); w.cache.Queues[id] != nil && w.IntN(3) == 0 {
		delete(w.cache.Queues, id)
	} else {
		w.cache.Queues[id] = api.NewQueueInfo(&scheduling.Queue{ObjectMeta: meta})
	}
}

func (w *world) changeClass() {
	class := &schedulingv1.PriorityClass{ObjectMeta: w.meta("class", 3), Value: int32(w.IntN(100))}
	if before := w.classes[class.Name]; before != nil {
		w.cache.DeletePriorityClass(before)
	}
	class.GlobalDefault = class.Name == "class0" // the API server refuses a second one
	w.cache.AddPriorityClass(class)
	w.classes[class.Name] = class
}

// work does what actions and plugins do in a session.
func (w *world) work(session *framework.Session) {
	for id, job := range session.Jobs {
		statement := framework.NewStatement(session)
		for _, task := range job.Tasks {
			w.try(session, statement, job, task)
		}
		if w.IntN(2) == 0 {
			statement.Discard()
		}
		if w.IntN(3) == 0 {
			session.UpdatePodGroupCondition(job, &scheduling.PodGroupCondition{Type: scheduling.PodGroupScheduled, TransitionID: string(session.UID), LastTransitionTime: metav1.Now()})
			session.Jobs[id].ScheduleStartTimestamp, job.JobFitErrors = metav1.Now(), "it does not fit"
		}
	}
}

func (w *world) try(session *framework.Session, statement *framework.Statement, job *api.JobInfo, task *api.TaskInfo) {
	node := session.Nodes[fmt.Sprint("node", w.IntN(5))]
	switch {
	case node == nil || w.IntN(2) == 0:
	case task.Status == api.Pending && w.IntN(3) == 0:
		job.NodesFitErrors[task.UID] = api.NewFitErrors()
	case task.Status == api.Pending && w.IntN(2) == 0:
		_ = statement.Pipeline(task, node.Name, false) // it may not fit
	case task.Status == api.Pending:
		_ = statement.Allocate(task, node) // it may not fit
	case task.Status == api.Running && w.IntN(2) == 0:
		w.must(statement.Evict(task, "room is needed"))
	case task.Status == api.Running:
		_ = session.Evict(task, "room is needed") // the cache may have lost it
	}
}

func (w *world) must(err error) {
	if w.Helper(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) expect(expected, got *api.ClusterInfo) {
	w.Helper()
	for _, pair := range [][2]any{{expected.Nodes, got.Nodes}, {expected.Jobs, got.Jobs}, {expected.RevocableNodes, got.RevocableNodes}, {expected.Queues, got.Queues}} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			everything := cmp.Exporter(func(reflect.Type) bool { return true })
			w.Fatalf("without copies that are used again (-) and with them (+):\n%s", cmp.Diff(pair[0], pair[1], everything))
		}
	}
}

// expectViews expects that Kubernetes' view of each node has the pods of the node.
func (w *world) expectViews(session *framework.Session) {
	w.Helper()
	made := framework.GenerateNodeMapAndSlice(session.Nodes)
	if len(made) != len(session.NodeMap) {
		w.Fatalf("there are views of %d nodes, want %d", len(session.NodeMap), len(made))
	}
	for name, want := range made {
		got := session.NodeMap[name]
		if got.Node() != want.Node() || len(got.GetPods()) != len(want.GetPods()) || len(got.GetPodsWithAffinity()) != len(want.GetPodsWithAffinity()) ||
			!reflect.DeepEqual(got.GetRequested(), want.GetRequested()) {
			w.Fatalf("the view of node %s has %d pods, want %d", name, len(got.GetPods()), len(want.GetPods()))
		}
	}
}
