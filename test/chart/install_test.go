// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheChartOwnsTheScheduler tests the first recipe: the chart runs the scheduler, and Volcano's chart runs everything else.
func TestTheChartOwnsTheScheduler(t *testing.T) {
	e := newCluster(t)
	e.installVolcano("v1.14.1")
	_, err := e.try("helm install devicequota charts/devicequota --namespace volcano-system --set scheduler.replicas=0 --set image.repository=" + repository)
	e.Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")), "the Queue CRD belongs to Volcano's release")
	e.Expect(e.installOurs("--set scheduler.replicas=0")).To(ContainSubstring("nothing has changed for pods"))
	_, err = e.try(ourInstallation())
	e.Expect(err).To(MatchError(ContainSubstring("Volcano's own scheduler runs, and two schedulers place pods past each other")))
	e.Expect(e.installOurs("--set volcano.schedulerMayRun=true")).To(ContainSubstring("WARNING: Volcano's own scheduler runs, too."))
	e.installVolcano("v1.14.1", "--reset-then-reuse-values --set custom.scheduler_enable=false --post-renderer charts/devicequota/post-render-volcano.sh")
	_, err = e.kube.AppsV1().Deployments(namespace).Get(e.ctx, "volcano-scheduler", metav1.GetOptions{})
	e.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "Volcano's own scheduler is gone")
	e.Expect(e.installOurs()).NotTo(ContainSubstring("WARNING"))

	s := e.runScheduler("devicequota-scheduler")
	e.Expect(e.cluster.StartVolcanoControllers(e.ctx)).To(Succeed())
	e.queue("team", 2)
	e.submit("train", "volcano", "team", 3)
	e.expectRunning("train", 2)
	s.expectNoProblems()

	e.step("a user cannot write what the scheduler trusts", func(e *environment) {
		forged := "kubectl -n default annotate pods --all volcano.sh/charged-queue=other --overwrite"
		_, err := e.try(forged)
		e.Expect(err).To(MatchError(ContainSubstring("only the scheduler writes the annotations")))
	})
	e.step("an upgrade of Volcano with the same flags changes nothing of ours", func(e *environment) {
		before := e.ours()
		e.installVolcano("v1.15.1", "--reset-then-reuse-values --post-renderer charts/devicequota/post-render-volcano.sh")
		e.Expect(e.ours()).To(Equal(before))
		e.Expect(e.servesDRA()).To(BeTrue())
		e.queue("team", 4)
		e.submit("next", "volcano", "team", 1)
		e.expectRunning("train", 3)
		e.expectRunning("next", 1)
	})
	e.step("an upgrade of Volcano without the post-renderer reverts the CRD, and no quota is lifted", func(e *environment) {
		before := e.ours()
		e.installVolcano("v1.15.1", "--reset-then-reuse-values")
		e.Expect(e.servesDRA()).To(BeFalse())
		e.Expect(e.ours()).To(Equal(before), "all but the CRD")
		e.submit("late", "volcano", "team", 1)
		e.expectEvent("Queue team", "QuotaFieldMissing")
		e.expectEvent("Pod late-worker-0", "InsufficientScalarQuota")
		e.installOurs()
		e.Expect(e.servesDRA()).To(BeTrue(), "the same release again puts the CRD back")
		e.Eventually(func() string {
			return e.sh("kubectl get queue team -o jsonpath='{.spec.dra.capability.nvidia-h100.count}'")
		}).Should(Equal("4"))
		e.Expect(e.running("late")).To(Equal(0))
	})
	e.step("the configuration is reloaded", func(e *environment) {
		folder := filepath.Join(s.folder, "scheduler-config")
		configuration, err := os.ReadFile(filepath.Join(folder, "volcano-scheduler.conf"))
		e.Expect(err).NotTo(HaveOccurred())
		next := filepath.Join(s.folder, "next") // replaced as a whole, as kubelets do
		e.write(next, string(configuration)+"\n# changed\n", 0o644)
		e.Expect(os.Rename(next, filepath.Join(folder, "volcano-scheduler.conf"))).To(Succeed())
		e.Eventually(func() int { return len(inForce.FindAllString(s.read(), -1)) }).Should(BeNumerically(">=", 2))
	})
	e.step("Prometheus' operator accepts what monitors the scheduler", (*environment).tryTheOperator)
	e.step("the webhook refuses what no policy can tell, and fails open", (*environment).tryTheWebhook)
	e.step("uninstalling keeps the queues", func(e *environment) {
		s.expectNothingForbidden()
		s.stop()
		e.sh("helm uninstall devicequota --namespace volcano-system")
		e.Expect(e.sh("kubectl get queue team -o jsonpath='{.spec.dra.capability.nvidia-h100.count}'")).To(Equal("4"))
		e.Expect(e.ours()).To(BeEmpty())
	})
}

// ours returns our objects except the CRD, without fields that change by themselves.
func (e *environment) ours() string {
	e.t.Helper()
	return e.sh("kubectl get deploy,svc,cm,sa,role,rolebinding,pdb -n volcano-system -l app.kubernetes.io/name=devicequota " +
		`-o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.spec} {.data} {.rules} {.subjects}{"\n"}{end}'; ` +
		"kubectl get clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding -l app.kubernetes.io/name=devicequota " +
		`-o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.spec} {.rules} {.subjects}{"\n"}{end}'`)
}
