// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// grace is the grace period of pods in seconds: Kubernetes' default.
const grace = 30

// execute acts as the member cluster of a Work.
func (w *world) execute(key string) {
	work := w.store[works][key].(*workv1alpha1.Work).DeepCopy()
	told := w.content[string(work.UID)]
	if told.retains && told.has.generation > 0 {
		told.told.replicas = told.replicas()
	}
	replaces := isDeployment(work) && len(told.former) > 0
	switch {
	case w.down[clusterOf(work)]:
	case work.DeletionTimestamp != nil:
		for _, p := range told.all() {
			w.stop(work, p, false)
		}
		delete(w.content, string(work.UID))
		work.Finalizers = nil
		w.put(works, work)
	case !told.suspended && !told.ended && (!told.isDone() || replaces || len(work.Status.ManifestStatuses) == 0):
		if told.isDone() && replaces {
			w.replace(work, told)
		}
		w.apply(work, told)
		meta.SetStatusCondition(&work.Status.Conditions, w.condition(workv1alpha1.WorkApplied, metav1.ConditionTrue, "Applied"))
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: told.status(key)}}}
		w.put(works, work)
	}
}

func clusterOf(work *workv1alpha1.Work) string {
	return strings.TrimPrefix(work.Namespace, "karmada-es-")
}

// status returns the status that a member reports.
func (c *content) status(key string) []byte {
	if strings.HasSuffix(key, "-job") {
		return fmt.Appendf(nil, `{"state":{"phase":"Running"},"taskStatusCount":{"t":{"phase":{"Running":%d}}}}`, c.replicas())
	}
	return fmt.Appendf(nil, `{"resourceTemplateGeneration":%d,"generation":1,"observedGeneration":1,"replicas":%d,"updatedReplicas":%d}`,
		c.has.generation, c.replicas(), c.has.replicas)
}

// left returns what a dispatcher finds in a member, if it may look there.
func (w *world) left(of *framework.Workload, cluster string, _ time.Time) framework.Left {
	if !w.looks {
		return framework.Left{Err: errors.New("nobody may look")}
	}
	left := framework.Left{Again: w.clock.Add(time.Second)}
	for _, o := range w.store[works] {
		work := o.(*workv1alpha1.Work)
		if told := w.content[string(work.UID)]; told != nil && clusterOf(work) == cluster && work.Name == of.Binding.Name && told.has.generation > 0 {
			left.Generation = strconv.FormatInt(told.has.generation, 10)
			left.Pods += told.replicas()
		}
	}
	for _, e := range w.ending {
		if e.key == of.Binding.Name && e.cluster == cluster && e.until.After(w.clock) {
			left.Pods += e.replicas
			left.Ending += e.replicas
		}
	}
	return left
}

// report acts as Karmada's status controllers.
func (w *world) report(key string) {
	rb := w.binding(key).DeepCopy()
	rb.Status.AggregatedStatus = nil
	for _, key := range w.worksOf(rb) {
		work := w.store[works][key].(*workv1alpha1.Work)
		if len(work.Status.ManifestStatuses) == 0 {
			continue
		}
		item := workv1alpha2.AggregatedStatusItem{ClusterName: clusterOf(work), Applied: true}
		if w.content[string(work.UID)].ended {
			item.Status = &runtime.RawExtension{Raw: []byte(completed)}
		}
		rb.Status.AggregatedStatus = append(rb.Status.AggregatedStatus, item)
	}
	w.put(bindings, rb)
}
