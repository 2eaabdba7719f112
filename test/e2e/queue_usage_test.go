// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

var _ = Describe("kubectl get queue", func() {
	It("shows the devices and cards in use, the limit, and what is waited for", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "n", h100, 8)
		devices, cards := f.queue(ctx, "devices", "root", limit(f.class, 3)), f.cardQueue(ctx, "cards", "root", `{"NVIDIA-H100-80GB": 2}`)
		expectColumn(ctx, devices, "DEVICES", f.class+" 0/3")
		expectColumn(ctx, cards, "CARDS", h100+" 0/2")

		f.submit(ctx, gang("first", devices, 2))
		f.cardJob(ctx, "card", cards, cardTask{names: h100})
		expectColumn(ctx, devices, "DEVICES", f.class+" 2/3")
		expectColumn(ctx, cards, "CARDS", h100+" 1/2")
		f.submit(ctx, gang("second", devices, 2))
		f.expectNotEnqueued(ctx, "second", "InsufficientScalarQuota", insufficient(devices, f.class, 2, 4, 3))
		expectColumn(ctx, devices, "DEVICES", f.class+" 2/3 (2 waiting)")
		Expect(account(ctx, devices, "request")).To(HaveKeyWithValue(f.class+"/count", 4.0))

		f.deleteJob(ctx, "first")
		f.expectRunning(ctx, "second", 2)
		setQuota(ctx, devices, limit(f.class, 5))
		expectColumn(ctx, devices, "DEVICES", f.class+" 2/5")
		f.deleteJob(ctx, "second")
		expectColumn(ctx, devices, "DEVICES", f.class+" 0/5")
	})

	It("shows apart what pods may choose, of the nodes that they select", func(ctx context.Context) {
		const h200 = "NVIDIA-H200"
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 1)
		f.gpuNode(ctx, "h200", h200, 1)
		queue := f.cardQueue(ctx, "q", "root", `{"NVIDIA-H100-80GB": 1, "NVIDIA-H200": 1}`)
		f.cardJob(ctx, "first", queue, cardTask{names: h100}, cardTask{names: h200})
		expectColumn(ctx, queue, "CARDS", h100+" 1/1, "+h200+" 1/1")
		f.cardJob(ctx, "either", queue, cardTask{names: h100 + "|" + h200, pods: 2})
		expectColumn(ctx, queue, "CARDS", h100+" 1/1 (either: 2), "+h200+" 1/1 (either: 2)")
		selects := func(job *batchv1alpha1.Job) {
			job.Spec.Tasks[0].Template.Spec.NodeSelector = map[string]string{"nvidia.com/gpu.product": h200}
		}
		f.cardJobWith(ctx, "selects", queue, selects, cardTask{names: h100 + "|" + h200, pods: 3})
		expectColumn(ctx, queue, "CARDS", h100+" 1/1 (either: 2), "+h200+" 1/1 (3 waiting, either: 2)")
		f.expectNotEnqueued(ctx, "selects", "InsufficientScalarQuota", insufficient(queue, h200, 3, 4, 1))
	})
})

// expectColumn waits until kubectl's table has a text for a queue. The sample class may follow the text: its name sorts after the names of the case.
func expectColumn(ctx context.Context, queue, column, want string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		data, err := queues.SchedulingV1beta1().RESTClient().Get().Resource("queues").Name(queue).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
		g.Expect(err).NotTo(HaveOccurred())
		var table metav1.Table
		g.Expect(json.Unmarshal(data, &table)).To(Succeed())
		g.Expect(table.Rows).To(HaveLen(1))
		shown := map[string]string{}
		for i, c := range table.ColumnDefinitions {
			shown[c.Name] = fmt.Sprint(table.Rows[0].Cells[i])
		}
		g.Expect(shown).To(HaveKeyWithValue(column, MatchRegexp("^"+regexp.QuoteMeta(want)+"(, "+sampleClass+" [0-9]+)?$")))
	}).WithContext(ctx).Should(Succeed())
}
