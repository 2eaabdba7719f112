// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var cpu = resourceDimension(corev1.ResourceCPU)

// start is when the first session of a test opens.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is clusters, workloads, and the sessions on them. Members of it are not read: what they report is set.
type world struct {
	*testing.T
	members    *Members
	dimensions *ledger.Dimensions
	workloads  []*framework.Workload
	now        time.Time
}

func newWorld(t *testing.T, clusters ...*clusterv1alpha1.Cluster) *world {
	w := &world{T: t, members: New(Options{}), dimensions: &ledger.Dimensions{}, now: start}
	w.members.ctx = context.Background()
	w.dimensions.Ordinal(cpu)
	for _, c := range clusters {
		w.set(c)
	}
	return w
}

// set is what the informer does, without a goroutine for the member.
func (w *world) set(c *clusterv1alpha1.Cluster) {
	if w.members.watchers[c.Name] == nil {
		w.members.watchers[c.Name] = newWatcher(w.members.options, wanted{})
		w.members.watchers[c.Name].cancel = func() {}
	}
	w.members.set(c)
}

func (w *world) open() *Session {
	return w.members.Open(&framework.Snapshot{Now: w.now, Dimensions: w.dimensions, Workloads: w.workloads})
}

// fits opens a session and asks.
func (w *world) fits(workload *framework.Workload) *framework.Refusal { return w.open().Fits(workload) }

func (w *world) mustFit(workload *framework.Workload) {
	w.Helper()
	if refusal := w.fits(workload); refusal != nil {
		w.Errorf("%s does not fit: %s", workload.Name(), refusal.Message)
	}
}

func (w *world) mustNotFit(workload *framework.Workload, message string) {
	w.Helper()
	refusal := w.fits(workload)
	switch {
	case refusal == nil:
		w.Errorf("%s fits", workload.Name())
	case refusal.Message != message:
		w.Errorf("message %q\n   want %q", refusal.Message, message)
	case refusal.Reason != "NoClusterFits":
		w.Errorf("reason %s", refusal.Reason)
	}
}

// workload is a Job that needs cores in one piece.
func (w *world) workload(name string, cores int64) *framework.Workload {
	job := &framework.Workload{
		Binding: &workv1alpha2.ResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
			Spec: workv1alpha2.ResourceBindingSpec{
				Resource:  workv1alpha2.ObjectReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"},
				Placement: &policyv1alpha1.Placement{},
			},
		},
		State: binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}, Queue: "team", Spread: framework.Spread{Copies: 1},
	}
	w.need(job, cpu, cores)
	return job
}

func (w *world) need(job *framework.Workload, d ledger.Dimension, units int64) {
	job.Needs.Largest, _ = job.Needs.Largest.Plus(w.dimensions.Ordinal(d), ledger.Units(units))
	job.Needs.All = job.Needs.Largest
}

// grant grants a workload all that it needs.
func (w *world) grant(job *framework.Workload) {
	job.State.Hold = nil
	job.State.Grant = &binding.Grant{Queue: job.Queue, Time: metav1.NewTime(w.now)}
	for _, e := range job.Needs.All {
		job.State.Grant.Amounts = append(job.State.Grant.Amounts, binding.Amount{Dimension: w.dimensions.Dimension(e.Dimension), Amount: e.Amount})
	}
	w.workloads = append(w.workloads, job)
}

// assign is what Karmada's scheduler does, and apply what its controllers do.
func assign(job *framework.Workload, clusters ...string) {
	job.Binding.Spec.Clusters = nil
	for _, name := range clusters {
		job.Binding.Spec.Clusters = append(job.Binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
}

func apply(job *framework.Workload) {
	job.Binding.Status.AggregatedStatus = nil
	for _, c := range job.Binding.Spec.Clusters {
		job.Binding.Status.AggregatedStatus = append(job.Binding.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: c.Name, Applied: true})
	}
}

// member is a cluster that is ready, with that many cores, of which some are in use.
func member(name string, cores, used int64) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: clusterv1alpha1.ClusterStatus{
			Conditions: []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue}},
			APIEnablements: []clusterv1alpha1.APIEnablement{
				{GroupVersion: "batch.volcano.sh/v1alpha1", Resources: []clusterv1alpha1.APIResource{{Name: "jobs", Kind: "Job"}}},
			},
			ResourceSummary: &clusterv1alpha1.ResourceSummary{
				Allocatable: corev1.ResourceList{corev1.ResourceCPU: quantity(cores)}, Allocated: corev1.ResourceList{corev1.ResourceCPU: quantity(used)},
			},
		},
	}
}

func quantity(n int64) resource.Quantity { return resource.MustParse(fmt.Sprint(n)) }
