// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

const webhook = "vc-webhook"

// listedTwice is a queue that the scheduler cannot read. A policy cannot detect that.
const listedTwice = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: listed-twice
  annotations: {volcano.sh/card.quota: '{"NVIDIA-H200": 8, "NVIDIA-H200": 4}'}
`

func TestTheWebhookOfTheChartIsThatOfConfig(t *testing.T) {
	e := newEnvironment(t)
	kustomized := e.objects(e.sh("kubectl kustomize config/webhook"))
	without := e.render("devicequota")
	with := e.render("devicequota", "--set webhook.enabled=true")
	for key, want := range kustomized {
		e.Expect(without).NotTo(HaveKey(key), "it is off by default")
		got := with[key]
		e.Expect(at(got, "metadata", "labels", "app.kubernetes.io/name")).To(Equal("devicequota"), key)
		withoutOurLabels(at(got, "metadata"))
		withoutOurLabels(at(want, "metadata"))
		e.Expect(withoutEmptyLines(got)).To(Equal(withoutEmptyLines(want)), key)
		delete(with, key)
	}
	e.Expect(with).To(HaveLen(len(without)))
}

func TestTheWebhookHasTheValuesOfItsPods(t *testing.T) {
	e := newEnvironment(t)
	all := e.objects(e.sh("helm template gpu charts/devicequota --namespace batch --set image.repository=internal:5000/mirror/scheduler,image.tag=v9 " +
		"--set 'imagePullSecrets={registry}' --set webhook.enabled=true,webhook.replicas=3 --set 'webhook.extraArgs={-v=4}' " +
		"--set webhook.podAnnotations.a=b,webhook.podLabels.c=d,webhook.nodeSelector.e=f,webhook.priorityClassName=high " +
		"--set webhook.tolerations[0].key=infra --set webhook.podDisruptionBudget.maxUnavailable=2 --set webhook.affinity.nodeAffinity.x=y " +
		"--set webhook.topologySpreadConstraints[0].maxSkew=2 --set webhook.resources.requests.cpu=1"))
	deployment := all["Deployment vc-webhook"]
	e.Expect(at(deployment, "spec", "replicas")).To(BeEquivalentTo(3))
	template := at(deployment, "spec", "template")
	e.Expect(at(template, "metadata", "annotations")).To(Equal(object{"a": "b"}))
	e.Expect(at(template, "metadata", "labels")).To(Equal(object{"c": "d", "app.kubernetes.io/name": webhook}))
	pod := at(template, "spec")
	e.Expect(at(pod, "nodeSelector")).To(Equal(object{"e": "f"}))
	e.Expect(at(pod, "priorityClassName")).To(Equal("high"))
	e.Expect(at(pod, "tolerations", 0, "key")).To(Equal("infra"))
	e.Expect(at(pod, "affinity", "nodeAffinity", "x")).To(Equal("y"))
	e.Expect(at(pod, "topologySpreadConstraints", 0, "maxSkew")).To(BeEquivalentTo(2))
	e.Expect(at(pod, "imagePullSecrets", 0, "name")).To(Equal("registry"))
	container := at(pod, "containers", 0)
	e.Expect(at(container, "image")).To(Equal("internal:5000/mirror/vc-webhook:v9"), "beside the image of the scheduler")
	e.Expect(texts(at(container, "args"))).To(ContainElements("--namespace=batch", "-v=4"))
	e.Expect(at(container, "resources", "requests", "cpu")).To(BeEquivalentTo(1))
	e.Expect(at(all["PodDisruptionBudget vc-webhook"], "spec", "maxUnavailable")).To(BeEquivalentTo(2))
	other := e.render("devicequota", "--set webhook.enabled=true,webhook.podDisruptionBudget.enabled=false,webhook.image.repository=a/b,webhook.image.tag=c")
	e.Expect(other).NotTo(HaveKey("PodDisruptionBudget vc-webhook"))
	e.Expect(at(other["Deployment vc-webhook"], "spec", "template", "spec", "containers", 0, "image")).To(Equal("a/b:c"))
}

// runWebhook runs vc-webhook as its Deployment specifies. It returns when the webhook is ready and the API server reaches it.
func (e *environment) runWebhook() *program {
	e.t.Helper()
	health, serving := freeAddress(e), freeAddress(e)
	_, port, err := net.SplitHostPort(serving)
	e.Expect(err).NotTo(HaveOccurred())
	p := e.run(webhook, webhook, health, "--health-probe-bind-address="+health, "--metrics-bind-address=0", "--webhook-bind-address=127.0.0.1", "--webhook-port="+port)
	p.port = port
	e.Eventually(func() (string, error) { return get("http://" + p.health + "/readyz") }).Should(Equal("ok"), p.read)
	p.forward()
	return p
}

// forward makes the API server reach the webhook at its port on this machine: the Service becomes another name of the machine.
func (p *program) forward() {
	p.t.Helper()
	p.sh(fmt.Sprintf(`kubectl -n volcano-system patch service vc-webhook --type merge --patch '{"spec": {"type": "ExternalName", "externalName": "localhost"}}'
		kubectl patch validatingwebhookconfiguration vc-webhook --type json --patch '[
		  {"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": %[1]s},
		  {"op": "replace", "path": "/webhooks/1/clientConfig/service/port", "value": %[1]s}]'`, p.port))
}

// create creates an object as an administrator, in dry-run mode.
func (e *environment) create(manifest string) error {
	_, err := e.try("kubectl create --dry-run=server -f - <<'MANIFEST'\n" + manifest + "\nMANIFEST")
	return err
}

// tryTheWebhook switches the webhook of the release devicequota on and off again.
func (e *environment) tryTheWebhook() {
	e.t.Helper()
	e.Expect(e.create(listedTwice)).To(Succeed(), "no webhook")
	e.installOurs("--reset-then-reuse-values --set webhook.enabled=true")
	p := e.runWebhook()
	refused := MatchError(ContainSubstring("listed-twice: its annotation volcano.sh/card.quota is wrong at character 32: NVIDIA-H200 is listed twice"))
	e.Eventually(func() error { return e.create(listedTwice) }).Should(refused)
	ports := map[string]int32{}
	for _, port := range p.pod.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	for _, probe := range []*corev1.Probe{p.pod.Containers[0].LivenessProbe, p.pod.Containers[0].ReadinessProbe} {
		e.Expect(ports[probe.HTTPGet.Port.StrVal]).To(BeEquivalentTo(8081), "the webhook's default")
		e.Expect(get("http://" + p.health + probe.HTTPGet.Path)).To(Equal("ok"))
	}

	state := "kubectl -n volcano-system get secret vc-webhook-certificates -o jsonpath={.data}; " +
		"kubectl get validatingwebhookconfiguration vc-webhook -o jsonpath='{.webhooks[*].clientConfig.caBundle}'"
	before := e.sh(state)
	e.installOurs("--reset-then-reuse-values --set webhook.replicas=3")
	e.Expect(e.sh(state)).To(Equal(before), "an upgrade keeps the certificates and the authorities")
	p.forward()
	e.Eventually(func() error { return e.create(listedTwice) }).Should(refused)

	p.expectNothingForbidden()
	p.kill()
	e.Expect(e.create(listedTwice)).To(Succeed(), "while the webhook does not run, everything is admitted")
	e.installOurs("--reset-then-reuse-values --set webhook.enabled=false")
	e.Expect(e.sh("kubectl get deploy,svc,sa,secret,role,rolebinding,pdb,clusterrole,clusterrolebinding,validatingwebhookconfiguration -A -o name")).
		NotTo(ContainSubstring("/" + webhook))
}
