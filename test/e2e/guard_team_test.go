// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// jobOfATeam returns a Volcano Job with one pod. resources and spec are further fields of its container's resources, and of its spec.
func jobOfATeam(name, resources, spec string) string {
	return fmt.Sprintf(`---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s}
spec:
  schedulerName: volcano
  queue: team-a
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template:
      spec:
        containers: [{name: main, image: registry.example.com/main:v1, resources: {requests: {cpu: "1"}%s}}]
        %s
`, name, resources, spec)
}

// ofATeam is what a member of a team runs: a job, a job that waits because the class of its claims does not exist, and a gang of plain pods.
var ofATeam = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: unknown-device}
spec: {spec: {devices: {requests: [{name: device, exactly: {deviceClassName: team-unknown}}]}}}
` + jobOfATeam("team-runs", "", "") + jobOfATeam("team-waits", ", claims: [{name: device}]", "resourceClaims: [{name: device, resourceClaimTemplateName: unknown-device}]") + `---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: team-gang}
spec: {queue: team-a, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: team-gang-0
  annotations: {scheduling.k8s.io/group-name: team-gang, scheduling.volcano.sh/queue-name: team-a}
spec:
  schedulerName: volcano
  containers: [{name: main, image: registry.example.com/main:v1, resources: {requests: {cpu: "1"}}}]
`

func guardOfTeams() {
	It("gives a team with the roles of the sample all that it needs to run jobs and to see why they wait", func(ctx context.Context) {
		shell := newShell()
		run := func(user, command, input string) (string, error) {
			out, err := shell.run(ctx, command+" --namespace "+guarded+" --as "+user+" 2>&1 <<'INPUT'\n"+input+"\nINPUT")
			return strings.Join(out, "\n"), err
		}
		const alice = "alice --as-group " + guarded
		Eventually(func() error { _, err := run(alice, "kubectl apply -f -", ofATeam); return err }).WithContext(ctx).Should(Succeed())
		for command, want := range map[string]string{
			"kubectl get jobs.batch.volcano.sh team-runs -o jsonpath={.status.state.phase}": "Running",
			"kubectl get podgroups team-gang -o jsonpath={.status.phase}":                   "Running",
			"kubectl devicequota waiting":                                                   "job/team-waits",
			"kubectl devicequota holders":                                                   "pod/team-runs-worker-0",
			"kubectl devicequota explain job team-waits":                                    "team-unknown",
			"kubectl devicequota explain podgroup team-gang":                                "team-gang",
			"kubectl devicequota explain pod team-gang-0":                                   "team-gang-0",
			"kubectl devicequota tree team-a":                                               "team-a",
		} {
			Eventually(func() (string, error) { return run(alice, command, "") }).WithContext(ctx).Should(ContainSubstring(want), command)
		}

		By("changing and deleting what it has made, and giving a Command to a job")
		for _, command := range []string{
			"kubectl label job.batch.volcano.sh/team-waits podgroup/team-gang resourceclaimtemplate/unknown-device team=a",
			"kubectl wait --for jsonpath={.status.state.phase}=Running job.batch.volcano.sh/team-runs --timeout 10s",
			"kubectl create --dry-run=server -f -",
			"kubectl delete jobs.batch.volcano.sh team-runs team-waits --wait=false",
			"kubectl delete pod/team-gang-0 resourceclaimtemplate/unknown-device",
		} {
			must(run(alice, command, "apiVersion: bus.volcano.sh/v1alpha1\nkind: Command\nmetadata: {name: suspend}\naction: AbortJob\n"+
				"target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: team-runs, uid: any}"))
		}
		Eventually(func() error { _, err := run(alice, "kubectl delete podgroup team-gang", ""); return err }).WithContext(ctx).Should(Succeed())

		By("giving others none of it")
		for _, command := range []string{"kubectl create --dry-run=server -f -", "kubectl devicequota waiting"} {
			out, err := run("carol", command, ofATeam)
			Expect(err).To(HaveOccurred(), command)
			Expect(out).To(ContainSubstring("orbidden"), command)
		}
	})
}
