// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"
)

func workWith(manifest string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	return work
}

func TestOfAWorkItIsKeptWhichWorkloadItIsAbout(t *testing.T) {
	for _, tc := range []struct{ name, manifest, want, uid string }{
		{"a workload", `{"kind":"Job","metadata":{"annotations":{"resourcetemplate.karmada.io/generation":"7","resourcetemplate.karmada.io/uid":"u"}},"spec":{"replicas":3}}`, "7", "u"},
		{"a workload without a generation", `{"kind":"Job","metadata":{}}`, "", ""},
		{"no JSON", `{`, "", ""},
		{"metadata of another type", `{"metadata":[]}`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			work := workWith(tc.manifest)
			for range 2 { // an informer may apply a transform again
				object, err := withoutManifests(work)
				if err != nil {
					t.Fatal(err)
				}
				work = object.(*workv1alpha1.Work)
				if got := work.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey]; got != tc.want {
					t.Errorf("the generation is %q, want %q", got, tc.want)
				}
				if got := work.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation]; got != tc.uid {
					t.Errorf("the UID is %q, want %q", got, tc.uid)
				}
				if len(work.Spec.Workload.Manifests) != 0 {
					t.Error("the manifests are kept")
				}
			}
		})
	}
}
