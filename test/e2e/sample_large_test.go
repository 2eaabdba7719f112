// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/page"
)

// jobWithReason matches a job of the sample that waits, with the reason in the comment beside it.
var jobWithReason = regexp.MustCompile(`(?m)(?:job|devices) (\S+) .*# (\w+)`)

var _ = Describe("The sample with 2,000 GPUs", func() {
	It("has a job for each reason to wait, and lists, explanations, and events tell it", func(ctx context.Context) {
		ownCluster(cluster.Options{Manifests: []string{"../../config/samples/large/queues.yaml"}})
		_, section, _ := strings.Cut(string(must(os.ReadFile("../../docs/devcluster.md"))), "## A cluster with 2,000 GPUs")
		shell := newShell()
		_, err := shell.run(ctx, "cd ../..\n"+page.Block.FindStringSubmatch(section)[2])
		Expect(err).NotTo(HaveOccurred())

		want := map[string]string{}
		for _, job := range jobWithReason.FindAllStringSubmatch(string(must(os.ReadFile("../../config/samples/large/jobs.sh"))), -1) {
			want[job[1]] = job[2]
		}
		Expect(want).To(HaveLen(13))
		Eventually(func(g Gomega) {
			out, err := shell.run(ctx, "kubectl devicequota waiting -o json")
			g.Expect(err).NotTo(HaveOccurred())
			var workloads v1alpha1.WorkloadList
			g.Expect(json.Unmarshal([]byte(strings.Join(out, "\n")), &workloads)).To(Succeed())
			got := map[string]string{}
			for _, workload := range workloads.Items {
				got[workload.Owner.Name] = workload.Waits.Reason
			}
			g.Expect(got).To(Equal(want))
		}).WithContext(ctx).Should(Succeed())

		for job, reason := range want {
			Eventually(func(g Gomega) {
				out, err := shell.run(ctx, "kubectl devicequota explain job "+job+" -o json")
				g.Expect(err).NotTo(HaveOccurred())
				var explained v1alpha1.Explanation
				g.Expect(json.Unmarshal([]byte(strings.Join(out, "\n")), &explained)).To(Succeed())
				g.Expect(explained.Cause.Reason).To(Equal(reason), job)
			}).WithContext(ctx).Should(Succeed())
			Eventually(eventsFrom).WithContext(ctx).WithArguments(ctx, kube, "default", "reason="+reason).ShouldNot(BeEmpty(), job)
		}
	}, NodeTimeout(3*timeout))
})
