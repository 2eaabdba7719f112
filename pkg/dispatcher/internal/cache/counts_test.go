// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// waits adds a Volcano Job to the cache that waits for room. Each pod of its tasks names the claim template t of its namespace.
func (c *Cache) waits(t *testing.T, namespace string, tasks int) *framework.Workload {
	t.Helper()
	name := fmt.Sprint("w", len(c.order))
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for i := range tasks {
		task := batchv1alpha1.TaskSpec{Name: fmt.Sprint("t", i), Replicas: 1}
		task.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
		task.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("t")}}
		job.Spec.Tasks = append(job.Spec.Tasks, task)
	}
	template, err := workload.Of(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
	w := &framework.Workload{
		Binding: rb, Template: template, State: binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}, Spread: framework.Spread{Copies: 1},
	}
	k := &known{rb: rb, workload: w}
	c.order, c.known[rb.UID] = append(c.order, k), k
	return w
}

// replace replaces the claim template of a namespace.
func (c *Cache) replace(t *testing.T, namespace string) {
	t.Helper()
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "t"}}
	template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
	}}}
	add(t, c, "ResourceClaimTemplate", template)
}

// counts counts as a snapshot does.
func (c *Cache) counts(t *testing.T) {
	t.Helper()
	if _, _, err := c.begin(c.counter, c.claimReader()); err != nil {
		t.Fatal(err)
	}
	c.round++
	for _, k := range c.order {
		k.round = c.round
	}
	c.inOrder()
}

// TestAClaimThatManyLargeWorkloadsNameKeepsNobodyWaiting: its user replaces it all the time, and hundreds of jobs of a thousand tasks are counted anew. All
// decisions of a cycle that takes five seconds are too old to be written.
func TestAClaimThatManyLargeWorkloadsNameKeepsNobodyWaiting(t *testing.T) {
	c := newFake(t)
	add(t, c, "DeviceClass", &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}})
	c.replace(t, "busy")
	for range 30 {
		c.waits(t, "busy", 1000)
	}
	all := testing.AllocsPerRun(1, func() {
		c.replace(t, "busy")
		c.counts(t)
	})
	few := newFake(t)
	add(t, few, "DeviceClass", &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}})
	few.replace(t, "busy")
	for range 10 {
		few.waits(t, "busy", 1000)
	}
	some := testing.AllocsPerRun(1, func() {
		few.replace(t, "busy")
		few.counts(t)
	})
	if all > 2*some {
		t.Errorf("there are %.0f allocations when 30 jobs are to be counted, and %.0f for ten", all, some)
	}
	same, other := c.waits(t, "busy", 1), c.waits(t, "other", 1)
	c.replace(t, "other")
	var counted []int
	for round := range 12 {
		c.replace(t, "busy")
		c.counts(t)
		for i, w := range []*framework.Workload{same, other} {
			if w.Err == nil && w.Needs.All != nil && !slices.Contains(counted, i) {
				counted = append(counted, i)
				if i == 1 && round > 0 {
					t.Error("a workload of another namespace waits")
				}
			}
		}
	}
	if len(counted) < 2 {
		t.Errorf("after 12 cycles, %v of two workloads are counted", counted)
	}
}

// TestUsersOfManyNamespacesKeepNobodyWaiting: what is counted in a cycle does not grow with the number of namespaces, and each gets its turn.
func TestUsersOfManyNamespacesKeepNobodyWaiting(t *testing.T) {
	c := newFake(t)
	add(t, c, "DeviceClass", &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}})
	const namespaces = 20
	for n := range namespaces {
		namespace := fmt.Sprint("busy", n)
		c.replace(t, namespace)
		for range 7 {
			c.waits(t, namespace, 1000)
		}
	}
	c.counts(t)
	effort, in := 0, map[string]bool{}
	for _, k := range c.order {
		if k.counted != nil {
			effort += k.workload.Template.Effort()
			in[k.rb.Namespace] = true
		}
	}
	if effort > 2*mostInAll || len(in) != namespaces {
		t.Errorf("workloads of %d namespaces are counted with an effort of %d, want at most %d", len(in), effort, 2*mostInAll)
	}
}

// showsJob creates a Job, and returns when the cache shows it.
func (c *Cache) showsJob(t *testing.T, job *batchv1.Job) {
	t.Helper()
	if _, err := c.clients.Kubernetes.BatchV1().Jobs(job.Namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, o := range c.optional {
		if o.gvk == workload.Job {
			go o.informer.RunWithContext(t.Context())
			if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return o.informer.HasSynced(), nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWhatClustersReportChangesNoCount: thousands of pods of a job may start and end at any time.
func TestWhatClustersReportChangesNoCount(t *testing.T) {
	c, web := newFake(t), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
	c.showsJob(t, web)
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-job", UID: "1", ResourceVersion: "1"}}
	rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","amounts":[]}`}
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "web"}
	rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}}
	for name, change := range map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		anew   bool
	}{
		"a report": {func(rb *workv1alpha2.ResourceBinding) {
			rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true}}
		}, false},
		"another cluster": {func(rb *workv1alpha2.ResourceBinding) {
			rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}}
		}, true},
		"another grant": {func(rb *workv1alpha2.ResourceBinding) {
			rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","copies":2,"amounts":[]}`}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			take := func(rb *workv1alpha2.ResourceBinding) (*known, *framework.Workload) {
				if err := c.bindingInformer.GetStore().Add(rb); err != nil {
					t.Fatal(err)
				}
				snapshot, err := c.Snapshot(time.Now())
				if err != nil || len(snapshot.Workloads) != 1 {
					t.Fatalf("%d workloads, %v", len(snapshot.Workloads), err)
				}
				return c.known["1"], snapshot.Workloads[0]
			}
			take(rb)
			k, before := take(rb)
			counted, later := k.counted, rb.DeepCopy()
			change.change(later)
			k, after := take(later)
			if after == before || len(after.Needs.All) == 0 || (k.counted != counted) != change.anew {
				t.Errorf("counted anew: %t, and it needs %v, %v", k.counted != counted, after.Needs.All, after.Err)
			}
		})
	}
}
