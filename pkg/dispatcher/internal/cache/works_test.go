// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
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

func TestAClusterIsToldAWorkloadAsItIsNow(t *testing.T) {
	c := newFake(t)
	work := workWith(`{"kind":"Job","metadata":{"annotations":{"resourcetemplate.karmada.io/generation":"7","resourcetemplate.karmada.io/uid":"u"}}}`)
	work.Namespace, work.Labels = "karmada-es-m1", map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}
	told, err := withoutManifests(work)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.workInformer.GetIndexer().Add(told); err != nil {
		t.Fatal(err)
	}
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Labels: work.Labels}}
	for name, tc := range map[string]struct {
		template workload.Template
		rb       *workv1alpha2.ResourceBinding
		want     bool
	}{
		"it has been told":         {workload.Template{UID: "u", Generation: 7}, rb, true},
		"a former version":         {workload.Template{UID: "u", Generation: 8}, rb, false},
		"another one of this name": {workload.Template{UID: "v", Generation: 7}, rb, false},
		"another binding":          {workload.Template{UID: "u", Generation: 7}, &workv1alpha2.ResourceBinding{}, false},
	} {
		if got := c.Told(&tc.template, tc.rb); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
