// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"
)

// execute does what the member cluster of a Work does.
func (w *world) execute(key string) {
	work := w.store[works][key].(*workv1alpha1.Work).DeepCopy()
	told := w.content[string(work.UID)]
	switch {
	case w.down[strings.TrimPrefix(work.Namespace, "karmada-es-")]:
	case work.DeletionTimestamp != nil:
		delete(w.content, string(work.UID))
		work.Finalizers = nil
		w.put(works, work)
	case !told.suspended:
		told.runs = told.cores
		if len(work.Status.ManifestStatuses) == 0 {
			work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{}}
			w.put(works, work)
		}
	}
}

// report does what Karmada's status controllers do.
func (w *world) report(key string) {
	rb := w.binding(key).DeepCopy()
	rb.Status.AggregatedStatus = nil
	for _, key := range w.worksOf(rb) {
		work := w.store[works][key].(*workv1alpha1.Work)
		if len(work.Status.ManifestStatuses) == 0 {
			continue
		}
		item := workv1alpha2.AggregatedStatusItem{ClusterName: strings.TrimPrefix(work.Namespace, "karmada-es-"), Applied: true}
		if w.content[string(work.UID)].ended {
			item.Status = &runtime.RawExtension{Raw: []byte(`{"state":{"phase":"Completed"}}`)}
		}
		rb.Status.AggregatedStatus = append(rb.Status.AggregatedStatus, item)
	}
	w.put(bindings, rb)
}
