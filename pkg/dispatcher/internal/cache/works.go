// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

var worksResource = workv1alpha1.SchemeGroupVersion.WithResource("works")

// byBinding is the name of the index by permanent ID.
const byBinding = "binding"

// permanentIDs indexes Works and bindings by the permanent ID that Karmada gives a binding.
var permanentIDs = cache.Indexers{byBinding: func(object any) ([]string, error) {
	if accessor, err := meta.Accessor(object); err == nil && idOf(accessor.GetLabels()) != "" {
		return []string{idOf(accessor.GetLabels())}, nil
	}
	return nil, nil
}}

func idOf(labels map[string]string) string {
	return labels[workv1alpha2.ResourceBindingPermanentIDLabel]
}

// notifiedBy are the annotations in a Work's manifest that identify the workload that its cluster must run, and its generation.
var notifiedBy = []string{workv1alpha2.ResourceTemplateUIDAnnotation, workv1alpha2.ResourceTemplateGenerationAnnotationKey}

// withoutManifests drops the manifests of a Work. It copies the notifiedBy annotations to the Work.
func withoutManifests(object any) (any, error) {
	if work, ok := object.(*workv1alpha1.Work); ok {
		if told := annotationsOf(work); told[workv1alpha2.ResourceTemplateGenerationAnnotationKey] != "" {
			for _, name := range notifiedBy {
				metav1.SetMetaDataAnnotation(&work.ObjectMeta, name, told[name])
			}
		}
		work.Spec.Workload = workv1alpha1.WorkloadTemplate{}
	}
	return withoutManagedFields(object)
}

// annotationsOf returns the annotations of the first manifest of a Work to which Karmada gave a generation, nil if there is none.
func annotationsOf(work *workv1alpha1.Work) map[string]string {
	for i := range work.Spec.Workload.Manifests {
		manifest := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &manifest); err != nil {
			continue // another user wrote this Work
		}
		if manifest.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey] != "" {
			return manifest.Annotations
		}
	}
	return nil
}

// Told reports whether a Work of a binding has a workload as it is now.
func (c *Cache) Told(t *workload.Template, rb *workv1alpha2.ResourceBinding) bool {
	generation := strconv.FormatInt(t.Generation, 10)
	return slices.ContainsFunc(c.worksOf(rb), func(work *workv1alpha1.Work) bool {
		return work.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey] == generation && work.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation] == string(t.UID)
	})
}

// worksOf returns the Works of a binding, sorted by cluster, nil if there are none.
func (c *Cache) worksOf(rb *workv1alpha2.ResourceBinding) []*workv1alpha1.Work {
	id := idOf(rb.Labels)
	if id == "" {
		return nil
	}
	found, err := c.workInformer.GetIndexer().ByIndex(byBinding, id)
	if err != nil || len(found) == 0 {
		return nil
	}
	works := make([]*workv1alpha1.Work, 0, len(found))
	for _, object := range found {
		works = append(works, object.(*workv1alpha1.Work))
	}
	slices.SortFunc(works, func(a, b *workv1alpha1.Work) int { return strings.Compare(a.Namespace, b.Namespace) })
	return works
}
