// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"testing"

	. "github.com/onsi/gomega"
)

const canary = "--set canaryOf=devicequota --set 'scheduler.names={canary}' "

func TestACanaryIsASchedulerAndNothingElse(t *testing.T) {
	e := newEnvironment(t)
	all := e.render("canary", canary+"--set webhook.enabled=true")
	var kinds []string
	for key := range all {
		kinds = append(kinds, key)
	}
	e.Expect(kinds).To(ConsistOf("Deployment canary-scheduler", "PodDisruptionBudget canary-scheduler", "Service canary-scheduler-service", "ConfigMap canary-scheduler-configmap"))
	pod := at(all["Deployment canary-scheduler"], "spec", "template", "spec")
	e.Expect(at(pod, "serviceAccountName")).To(Equal("devicequota-scheduler"), "that of the other release")
	args := texts(at(pod, "containers", 0, "args"))
	e.Expect(args).To(ContainElements("--scheduler-name=canary", "--leader-elect-resource-name=canary", "--visibility-bind-address="))
	other := e.render("canary", canary+"--set serviceAccount.name=theirs")
	e.Expect(at(other["Deployment canary-scheduler"], "spec", "template", "spec", "serviceAccountName")).To(Equal("theirs"))
}

func TestACanaryDoesNotRecordUsage(t *testing.T) {
	e := newEnvironment(t)
	custom := t.TempDir() + "/custom.conf"
	e.write(custom, "actions: allocate\ntiers:\n- plugins: [{name: gang}]\n- plugins: [{name: capacity, arguments: {accounting: true}}]\n", 0o644)
	for flags, tier := range map[string]int{"": 0, "--set-file configuration.content=" + custom: 1} {
		var ours, canarys object
		const key = "volcano-scheduler.conf"
		e.Expect(unmarshal(at(e.render("devicequota", flags)["ConfigMap devicequota-scheduler-configmap"], "data", key).(string), &ours)).To(Succeed())
		e.Expect(unmarshal(at(e.render("canary", canary+flags)["ConfigMap canary-scheduler-configmap"], "data", key).(string), &canarys)).To(Succeed())
		plugins, _ := at(ours, "tiers", tier, "plugins").([]any)
		for _, plugin := range plugins {
			if at(plugin, "name") == "capacity" {
				at(plugin, "arguments").(object)["accounting"] = false
			}
		}
		e.Expect(canarys).To(Equal(ours), "all but the accounting is the same")
	}
}

func TestThePoliciesKnowTheNamesOfCanaries(t *testing.T) {
	e := newEnvironment(t)
	all := e.render("devicequota", "--set 'admissionPolicies.schedulerNames={canary,volcano}'")
	for _, policy := range []string{"devicequota-queues", "devicequota-devices", "devicequota-deletions"} {
		e.Expect(at(all["ValidatingAdmissionPolicy "+policy], "spec", "variables")).To(
			ContainElement(object{"name": "schedulerNames", "expression": "['volcano', 'canary']"}), policy)
	}
}
