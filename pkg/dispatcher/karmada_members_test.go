// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"fmt"
	"slices"
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
		told.told.replicas = told.has.replicas
	}
	switch {
	case w.down[clusterOf(work)]:
	case work.DeletionTimestamp != nil:
		w.stop(work, told.has)
		delete(w.content, string(work.UID))
		work.Finalizers = nil
		w.put(works, work)
	case !told.suspended && !told.ended && (told.has != told.told || len(work.Status.ManifestStatuses) == 0):
		less := told.has
		if less.replicas -= told.told.replicas; less.each != told.told.each {
			less.replicas = told.has.replicas
		}
		w.stop(work, less)
		told.has = told.told
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied"})
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: told.has.status(key)}}}
		w.put(works, work)
	}
}

func clusterOf(work *workv1alpha1.Work) string {
	return strings.TrimPrefix(work.Namespace, "karmada-es-")
}

// stop deletes pods. They run on for a while.
func (w *world) stop(work *workv1alpha1.Work, p pods) {
	if p.replicas > 0 {
		until := w.clock.Add(time.Duration(w.rand.IntN(grace+1)) * time.Second)
		// A Karmada controller that lags behind may have made the cluster run more than the grant.
		charged := min(p.cores(), w.charged()[idOfWork(work)])
		w.ending = append(w.ending, ending{work.Name, idOfWork(work), clusterOf(work), p, charged, until})
	}
}

func idOfWork(work *workv1alpha1.Work) string {
	return work.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
}

// status returns the status that a member reports for pods.
func (p pods) status(key string) []byte {
	if strings.HasSuffix(key, "-job") {
		return fmt.Appendf(nil, `{"state":{"phase":"Running"},"taskStatusCount":{"t":{"phase":{"Running":%d}}}}`, p.replicas)
	}
	return fmt.Appendf(nil, `{"resourceTemplateGeneration":%d,"generation":1,"observedGeneration":1,"replicas":%d,"updatedReplicas":%[2]d}`, p.generation, p.replicas)
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
			left.Pods += told.has.replicas
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

// checkEnding checks that pods are charged until they have ended.
func (w *world) checkEnding() {
	w.ending = slices.DeleteFunc(w.ending, func(e ending) bool { return !e.until.After(w.clock) })
	charged := w.charged()
	for _, e := range w.ending {
		if e.charged > charged[e.owner] {
			w.t.Errorf("%s: pods that were deleted in cluster %s run %d cores, and %d are charged", e.key, e.cluster, e.cores(), charged[e.owner])
		}
	}
}

// charged returns the charge of each workload, by permanent ID.
func (w *world) charged() map[string]int64 {
	charged := map[string]int64{}
	for _, o := range w.store[bindings] {
		rb := o.(*workv1alpha2.ResourceBinding)
		charged[idOf(rb)] = coresGranted(w.stateOf(rb).Grant)
	}
	return charged
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
			item.Status = &runtime.RawExtension{Raw: []byte(`{"state":{"phase":"Completed"}}`)}
		}
		rb.Status.AggregatedStatus = append(rb.Status.AggregatedStatus, item)
	}
	w.put(bindings, rb)
}
