// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestATourFromTheChartToAReport acts as a new user: it installs the chart into a cluster with Volcano, and follows docs/tour.md. All
// commands ask the scheduler through the API server. The APIService and the EndpointSlice of the leader route them to the pod.
func TestATourFromTheChartToAReport(t *testing.T) {
	e := newCluster(t)
	e.installVolcano("v1.14.1", "--set custom.scheduler_enable=false", postRenderer)
	e.Expect(e.installOurs()).NotTo(ContainSubstring("WARNING"))
	k := newKubelet(e)
	k.follow()
	e.Expect(e.cluster.StartVolcanoControllers(e.ctx)).To(Succeed())
	const available = "kubectl wait --for condition=Available apiservice/v1alpha1.visibility.devicequota.io --timeout 1m"
	e.sh(available)
	e.step("nothing in a new installation is wrong", func(e *environment) {
		e.Expect(e.sh("kubectl devicequota lint")).To(Equal("Nothing found\n"))
	})
	k.visit("2. Describe the hardware", "3. Set quotas", "4. Say who may use which queue", "5. Run jobs", "6. See who has what, and why something waits")
	e.step("the team may use its queue, and see why its job waits", (*environment).askAsTheTeam)

	e.sh("helm upgrade devicequota charts/devicequota --namespace volcano-system --reset-then-reuse-values --set scheduler.logLevel=2 " +
		"--set-file configuration.content=" + e.frequentAccounting() + "\n" +
		"kubectl -n volcano-system rollout status deployment devicequota-scheduler --timeout 1m")
	before := k.running["devicequota-scheduler"]
	k.follow()
	e.Expect(k.running["devicequota-scheduler"]).NotTo(BeIdenticalTo(before), "the upgrade replaces the pods")
	e.sh(available)
	e.Expect(strings.Count(e.sh("kubectl devicequota holders nvidia-l40s --all-namespaces"), "pod/train-worker-")).To(Equal(3), "who holds what is the same")
	k.visit("7. Try a change first", "8. Account", "9. Clean up")
	e.Expect(e.sh("kubectl devicequota holders --all-namespaces -o json")).NotTo(ContainSubstring("train"))

	e.step("after the chart is uninstalled, queues and the record of usage stay", func(e *environment) {
		k.running["devicequota-scheduler"].expectNoProblems()
		k.play(k.section(installation, "Uninstall").forward[:1])
		e.sh("helm uninstall devicequota --namespace volcano-system\n" +
			"kubectl create namespace after\nkubectl delete namespace after --timeout 1m")
		e.Expect(e.ours()).To(BeEmpty())
		e.Expect(e.sh("kubectl get queues,usagerecords -o name")).To(And(ContainSubstring("queue.scheduling.volcano.sh/default"), ContainSubstring("usagerecord")))
	})
}

// visit runs sections of the tour.
func (k *kubelet) visit(titles ...string) {
	k.t.Helper()
	for _, title := range titles {
		k.play(k.section("docs/tour.md", title).forward)
	}
}

// askAsTheTeam asks as a member of the team of the tour, and as another user.
func (e *environment) askAsTheTeam() {
	e.t.Helper()
	const team, other = "--as alice --as-group vision", "--as mallory"
	e.sh("kubectl --namespace vision " + team + " run trial --image registry.example.com/main:v1 --dry-run=server --annotations scheduling.volcano.sh/queue-name=vision")
	e.Expect(e.sh("kubectl devicequota explain job tune --namespace vision " + team)).To(ContainSubstring("capability is <4> (InsufficientScalarQuota)"))
	_, err := e.try("kubectl devicequota explain job tune --namespace vision " + other)
	e.Expect(err).To(MatchError(ContainSubstring("ask an administrator for a Role or ClusterRole with apiGroups: [visibility.devicequota.io], resources: [jobs/explanation]")))
	e.Expect(e.sh("kubectl devicequota tree lab -o json "+other)).To(ContainSubstring("nvidia-l40s"), "everybody may see the queues")
}

// frequentAccounting returns a file with the shipped configuration, but with a record of usage that is written every second.
func (e *environment) frequentAccounting() string {
	e.t.Helper()
	const argument = "      deviceAccounting: matching\n"
	shipped := e.fileOf("config/scheduler/volcano-scheduler.conf")
	e.Expect(strings.Count(shipped, argument)).To(Equal(1))
	file := filepath.Join(e.t.TempDir(), "volcano-scheduler.conf")
	e.write(file, strings.Replace(shipped, argument, argument+"      accountingInterval: 1s\n", 1), 0o644)
	return file
}
