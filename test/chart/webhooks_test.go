// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"volcano.sh/volcano/pkg/webhooks/admission/queues/mutate"
	"volcano.sh/volcano/pkg/webhooks/admission/queues/validate"
)

const queueWithDevices = `{
  "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
  "metadata": {"name": "team", "annotations": {"volcano.sh/card.quota": "not even JSON"}},
  "spec": {"parent": "root", "dra": {"capability": {"nvidia-h100": {"count": 8}}}}
}`

func TestVolcanosWebhooksNeitherCheckNorChangeQuotasOfDevices(t *testing.T) {
	g := NewWithT(t)
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(queueWithDevices)}, OldObject: runtime.RawExtension{Raw: []byte(queueWithDevices)},
		Resource: metav1.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"},
	}}
	changed := mutate.Queues(review)
	g.Expect(changed.Allowed).To(BeTrue(), "%v", changed.Result)
	var patches []struct{ Op, Path string }
	g.Expect(json.Unmarshal(changed.Patch, &patches)).To(Succeed())
	for _, patch := range patches {
		g.Expect(patch.Path).To(BeElementOf("/spec/reclaimable", "/spec/weight"))
	}
	review.Request.Operation = admissionv1.Update
	checked := validate.AdmitQueues(review)
	g.Expect(checked.Allowed).To(BeTrue(), "%v", checked.Result)
	g.Expect(checked.Patch).To(BeNil())
}
