// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

var _ = Describe("A gang", func() {
	It("starts with the minimum of each task, although its queue has no room for all of its pods", func(ctx context.Context) {
		f := newFixture(ctx)
		f.plainNode(ctx)
		team := f.limitedQueue(ctx, "team", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = amount("cpu", "3") })
		pod := f.plainTemplate(amount("cpu", "1"), "")
		f.plainTasks(ctx, "mpi", team, "", 3, batchv1alpha1.TaskSpec{Name: "worker", Replicas: 3, MinAvailable: ptr.To[int32](2), Template: pod},
			batchv1alpha1.TaskSpec{Name: "zlauncher", Replicas: 1, MinAvailable: ptr.To[int32](1), Template: pod})
		f.expectRunning(ctx, "mpi", 3)
		launcher := must(kube.CoreV1().Pods(f.namespace).Get(ctx, "mpi-zlauncher-0", metav1.GetOptions{}))
		Expect(launcher.Status.Phase).To(Equal(corev1.PodRunning))
	})
})
