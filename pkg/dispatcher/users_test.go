// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

func (w *world) cluster(name string) {
	w.put(clusters, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.reach(name, true)
}

// reach makes a cluster reachable or unreachable.
func (w *world) reach(name string, ready bool) {
	c := w.store[clusters]["/"+name].DeepCopyObject().(*clusterv1alpha1.Cluster)
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	w.down[name] = !ready
	if meta.SetStatusCondition(&c.Status.Conditions, w.condition(clusterv1alpha1.ClusterConditionReady, status, "Probed")) {
		w.put(clusters, c)
	}
}

func (w *world) queue(name, parent string, cores int64) {
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	q.Spec.Parent = parent
	q.Status.State = "Open"
	if cores > 0 {
		q.Spec.Capability = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI)}
		q.Spec.Deserved = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cores/2, resource.DecimalSI)}
	}
	w.put(queues, q)
	w.parents, w.capabilities = withEntry(w.parents, name, parent), withEntry(w.capabilities, name, cores)
}

func withEntry[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

func podsOf(queue string, cores int64) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI)}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{volcanov1beta1.QueueNameAnnotationKey: queue}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}
}

func coresOf(spec *corev1.PodSpec) int64 { return spec.Containers[0].Resources.Requests.Cpu().Value() }

// create creates a workload with a random name, if that name is free.
func (w *world) create() {
	name, queue := "w"+strconv.Itoa(w.rand.IntN(8)), []string{"a", "a", "b", "c"}[w.rand.IntN(4)]
	replicas, each := int32(1+w.rand.IntN(3)), int64(1+w.rand.IntN(2))
	placement := &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: w.someMembers()}}
	if w.chance(50) {
		if w.store[jobs]["ns/"+name] == nil {
			if w.chance(70) {
				placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1}}
			}
			job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			job.APIVersion, job.Kind = "batch.volcano.sh/v1alpha1", "Job"
			job.Spec = batchv1alpha1.JobSpec{Queue: queue, MinAvailable: 1, Tasks: []batchv1alpha1.TaskSpec{{Name: "t", Replicas: replicas, Template: podsOf(queue, each)}}}
			w.policies["ns/"+name+"-job"] = placement
			w.put(jobs, job)
		}
		return
	}
	if w.store[deployments]["ns/"+name] == nil {
		if w.chance(50) {
			placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
		}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		d.Spec = appsv1.DeploymentSpec{Replicas: &replicas, Template: podsOf(queue, each)}
		w.policies["ns/"+name+"-deployment"] = placement
		w.put(deployments, d)
	}
}

// key returns the key of a binding that exists or should exist.
func (w *world) key() string {
	keys := w.keys()
	if len(keys) == 0 {
		return ""
	}
	return keys[w.rand.IntN(len(keys))]
}

func (w *world) keys() []string {
	all := map[string]bool{}
	for key := range w.store[bindings] {
		all[key] = true
	}
	for key := range w.store[jobs] {
		all[key+"-job"] = true
	}
	for key := range w.store[deployments] {
		all[key+"-deployment"] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// update is an admitted change of an object that is not stored yet.
type update struct {
	resource      string
	before, after object
	since         time.Time
	// recorded says that a binding existed that could record it.
	recorded bool
}

// someMembers returns one or more members, most often one or two.
func (w *world) someMembers() []string {
	some := slices.Clone(memberClusters)
	w.rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	some = some[:[]int{1, 1, 1, 2, 2, 3}[w.rand.IntN(6)]]
	slices.Sort(some)
	return some
}

// change requests other replicas for a random object, and perhaps other pods.
func (w *world) change() {
	res := []string{jobs, deployments}[w.rand.IntN(2)]
	key := w.pick(res)
	if key == "" || w.store[res][key].GetDeletionTimestamp() != nil {
		return
	}
	if w.chance(75) {
		w.scaleTo(res, key, int32(w.rand.IntN(5)))
	} else {
		w.requestOf(res, key, int32(w.rand.IntN(5)), int64(1+w.rand.IntN(3)))
	}
}

// scaleTo requests a number of replicas for an object. A Volcano Job has at least one.
func (w *world) scaleTo(res, key string, replicas int32) { w.requestOf(res, key, replicas, 0) }

// requestOf requests a number of replicas for an object, and a number of cores for its pods if that is not zero.
func (w *world) requestOf(res, key string, replicas int32, each int64) {
	before := w.store[res][key]
	after := before.DeepCopyObject().(object)
	var pods *corev1.PodTemplateSpec
	switch o := after.(type) {
	case *batchv1alpha1.Job:
		o.Spec.Tasks[0].Replicas = max(1, replicas)
		pods = &o.Spec.Tasks[0].Template
	case *appsv1.Deployment:
		o.Spec.Replicas = ptr.To(replicas)
		pods = &o.Spec.Template
	}
	if each > 0 {
		*pods = podsOf(queueOf(before), each)
	}
	response := w.admit("user", admission.WorkloadsPath, "UPDATE", before, after)
	w.note("change %s %s to %d pods of %d: %t %v", res, key, replicas, each, response.Allowed, response.Warnings)
	if response.Allowed {
		rb := w.binding(key + map[string]string{jobs: "-job", deployments: "-deployment"}[res])
		recorded := rb != nil && rb.Spec.Resource.UID == before.GetUID()
		w.updates = append(w.updates, update{res, before, after, w.clock, recorded})
	}
}

// changePolicy sends a workload to other clusters, and may divide its replicas or not.
func (w *world) changePolicy(key string) {
	p := w.policies[key].DeepCopy()
	p.ClusterAffinity.ClusterNames = w.someMembers()
	if w.chance(30) && strings.HasSuffix(key, "-deployment") { // Karmada does not divide Volcano Jobs
		p.ReplicaScheduling = nil
		if !divides(w.policies[key]) {
			p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
		}
	}
	w.policies[key] = p
	w.note("policy of %s: %v, divided %v", key, p.ClusterAffinity.ClusterNames, divides(p))
}

// storeUpdate stores an update, unless the object has changed since.
func (w *world) storeUpdate() {
	if len(w.updates) == 0 {
		return
	}
	u := w.updates[0]
	w.updates = w.updates[1:]
	now := w.store[u.resource][keyOf(u.before)]
	if now != nil && now.GetResourceVersion() == u.before.GetResourceVersion() && w.clock.Sub(u.since) < time.Minute {
		w.put(u.resource, u.after)
		if !u.recorded {
			w.unrecorded[u.after.GetUID()] = true
		}
		w.note("stored %s %s", u.resource, keyOf(u.after))
	}
}
