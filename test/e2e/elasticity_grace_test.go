// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/settings"
)

// graceOf returns the grace periods of the pods of a group that are being deleted.
func (s *scene) graceOf(ctx context.Context, group string) (all []int64) {
	pods := must(kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + group}))
	for i := range pods.Items {
		if grace := pods.Items[i].DeletionGracePeriodSeconds; grace != nil {
			all = append(all, *grace)
		}
	}
	return all
}

// endNow ends the deleted pods of a group, as their node does.
func (s *scene) endNow(ctx context.Context, group string) {
	pods := must(kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + group}))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			Expect(kube.CoreV1().Pods(s.namespace).Delete(ctx, pods.Items[i].Name, *metav1.NewDeleteOptions(0))).To(Succeed())
		}
	}
}

const year = 365 * 24 * time.Hour

// graceScenarios are about pods with unusual grace periods.
var graceScenarios = []scenario{
	{
		name: "a pod that may take a year to end is evicted so that it ends before what it frees is given up",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 2)
			_, theirs := s.oursAndTheirs(ctx, "root", 1, 1)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"), ending(int64(year.Seconds())))
		},
		when: onePodAsks,
		meanwhile: func(ctx context.Context, s *scene) {
			Eventually(s.graceOf).WithContext(ctx).WithArguments("theirs").Should(Equal([]int64{int64((settings.DefaultReservationTimeout - time.Minute).Seconds())}))
			s.endNow(ctx, "theirs")
		},
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 1, "ours": 1}},
	},
}
