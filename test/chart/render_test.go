// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestTheChartIsValid(t *testing.T) {
	e := newEnvironment(t)
	e.sh("helm lint --strict --quiet charts/devicequota --set image.repository=" + repository)
}

func TestTheChartHasThePermissionsPoliciesAndCRDOfConfig(t *testing.T) {
	e := newEnvironment(t)
	kustomized := e.objects(e.sh("kubectl kustomize config"))
	delete(kustomized, "Namespace volcano-system") // Helm creates it
	image := repository + ":v0.1.0"
	e.Expect(at(kustomized["Deployment volcano-scheduler"], "spec", "template", "spec", "containers", 0, "image")).To(Equal(image))

	rendered := e.render("devicequota", "--set fullnameOverride=volcano-scheduler")
	for _, crd := range []string{"queues.scheduling.volcano.sh", "usagecheckpoints.accounting.devicequota.io", "usagerecords.accounting.devicequota.io"} {
		annotations := at(rendered["CustomResourceDefinition "+crd], "metadata", "annotations").(object)
		for key, value := range map[string]string{"helm.sh/resource-policy": "keep", "argocd.argoproj.io/sync-options": "Prune=false"} {
			e.Expect(annotations).To(HaveKeyWithValue(key, value), crd)
			delete(annotations, key)
		}
	}
	for key, want := range kustomized {
		got := rendered[key]
		withoutOurLabels(at(got, "metadata"), at(got, "spec", "template", "metadata"))
		e.Expect(withoutEmptyLines(got)).To(Equal(withoutEmptyLines(want)), key)
		delete(rendered, key)
	}
	e.Expect(rendered).To(BeEmpty(), "objects that the kustomization lacks")
}

// withoutEmptyLines removes empty lines from texts: kustomize adds some to folded texts.
func withoutEmptyLines(value any) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, "\n\n", "\n")
	case object:
		for key, child := range value {
			value[key] = withoutEmptyLines(child)
		}
	case []any:
		for i, child := range value {
			value[i] = withoutEmptyLines(child)
		}
	}
	return value
}

func TestTheKustomizationHasAllManifests(t *testing.T) {
	e := newEnvironment(t)
	listed := e.sh("cat config/kustomization.yaml")
	for _, folder := range []string{"crd", "rbac", "admission", "deployment"} {
		files, err := filepath.Glob(filepath.Join(root, "config", folder, "*.yaml"))
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			e.Expect(listed).To(ContainSubstring("- " + folder + "/" + filepath.Base(file) + "\n"))
		}
	}
}

// withoutOurLabels removes the labels that only the chart sets, from the metadata of objects or templates.
func withoutOurLabels(all ...any) {
	for _, metadata := range all {
		metadata, _ := metadata.(object)
		labels, _ := metadata["labels"].(object)
		for key := range labels {
			if strings.HasPrefix(key, "app.kubernetes.io/") || strings.HasPrefix(key, "helm.sh/") {
				delete(labels, key)
			}
		}
		if labels != nil && len(labels) == 0 {
			delete(metadata, "labels")
		}
	}
}

func TestThePackagedChartIsComplete(t *testing.T) {
	e := newEnvironment(t)
	folder := t.TempDir()
	e.sh("helm package charts/devicequota --destination " + folder + " && tar -xzf " + folder + "/devicequota-*.tgz -C " + folder)
	for _, render := range []string{"helm template devicequota charts/devicequota", "helm template devicequota " + folder + "/devicequota"} {
		e.Expect(e.sh(render+" --set image.repository=r")).To(Equal(e.sh("helm template devicequota charts/devicequota --set image.repository=r")), render)
	}
	e.Expect(filepath.Join(folder, "devicequota/post-render-volcano.sh")).To(BeARegularFile())
	e.Expect(filepath.Join(folder, "devicequota/config/samples")).NotTo(BeADirectory())
}

func TestWithoutEvictionsNoActionEvicts(t *testing.T) {
	e := newEnvironment(t)
	for flags, want := range map[string]string{
		"":                                     "enqueue, allocate, backfill, preempt, reclaim",
		"--set configuration.evictions=false ": "enqueue, allocate, backfill",
	} {
		text := e.render("devicequota", flags)["ConfigMap devicequota-scheduler-configmap"]
		var configuration struct{ Actions string }
		e.Expect(yaml.Unmarshal([]byte(at(text, "data", "volcano-scheduler.conf").(string)), &configuration)).To(Succeed())
		e.Expect(configuration.Actions).To(Equal(want))
	}
}

func TestValuesAreChecked(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                                           "Set image.repository to the repository of the scheduler's image",
		"--set scheduler.replica=1":                                  "additional properties 'replica' not allowed",
		"--set schedulr.replicas=1":                                  "additional properties 'schedulr' not allowed",
		"--set scheduler.replicas=two":                               "got string, want integer",
		"--set scheduler.period=1":                                   "got number, want string",
		"--set-json scheduler.names=[]":                              "minItems: got 0, want 1",
		"--set scheduler.featureGates.X=maybe":                       "got string, want boolean",
		"--set scheduler.nodes[0]=gpu":                               "does not match pattern",
		"--set image.digest=sha256:1":                                "does not match pattern",
		"--set fullnameOverride=Upper":                               "does not match pattern",
		"--set scheduler.extraArgs[0]=v=5":                           "does not match pattern",
		"--set scheduler.podDisruptionBudget.maxUnavailable=0":       "minimum: got 0, want 1",
		"--set monitoring.prometheusRule.interval=30s":               "additional properties 'interval' not allowed",
		"--set image.repository=registry.example.com/x:v1":           "does not match pattern",
		"--set visibility.certificate.secret=x,image.repository=r":   "set both secret and caBundle, or neither",
		"--set webhook.enabled=yes":                                  "got string, want boolean",
		"--set scheduler.period=0s":                                  "'not' failed",
		"--set scheduler.resources.requests.memory=4GB":              "does not match pattern",
		"--set volcano.release=Volcano":                              "does not match pattern",
		"--set-string webhook.podDisruptionBudget.maxUnavailable=0%": "does not match pattern",
		"--set scheduler.enabled=false,webhook.enabled=true":         "Set webhook.image.repository to the repository of the webhook's image",
		"--set configuration.content=text --set image.repository=r":  "configuration.content is not a configuration of the scheduler",
		"--set canaryOf=x --set image.repository=r":                  "give the canary a name of its own",
		canary + "--set canaryOf=devicequota,image.repository=r":     "canaryOf is this release",
	} {
		t.Run(flags, func(t *testing.T) {
			e := newEnvironment(t)
			_, err := e.try("helm template devicequota charts/devicequota " + flags)
			e.Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestEachValueIsDescribedAndChecked(t *testing.T) {
	e := newEnvironment(t)
	var values, schema object
	text, err := os.ReadFile(filepath.Join(root, "charts/devicequota/values.yaml"))
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(unmarshal(string(text), &values)).To(Succeed())
	text, err = os.ReadFile(filepath.Join(root, "charts/devicequota/values.schema.json"))
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(unmarshal(string(text), &schema)).To(Succeed())
	e.Expect(unlisted(values, schema, schema)).To(BeEmpty())
}

// unlisted returns the values that are not in the schema, and the properties of the schema without a value.
func unlisted(values, schema, whole object) (missing []string) {
	properties, _ := schema["properties"].(object)
	for name, value := range values {
		property, listed := properties[name].(object)
		if !listed {
			missing = append(missing, "schema: "+name)
			continue
		}
		if reference, isReference := property["$ref"].(string); isReference {
			property, _ = at(whole, "definitions", strings.TrimPrefix(reference, "#/definitions/")).(object)
		}
		fields, isMap := value.(object)
		if isMap && property["properties"] != nil {
			missing = append(missing, unlisted(fields, property, whole)...)
		}
	}
	for name := range properties {
		if _, found := values[name]; !found && name != "global" && name != "claims" {
			missing = append(missing, "values: "+name)
		}
	}
	return missing
}

func TestAnotherReleaseInAnotherNamespace(t *testing.T) {
	e := newEnvironment(t)
	all := e.objects(e.sh("helm template gpu charts/devicequota --namespace batch --kube-version 1.33.0 --set image.repository=r " +
		"--set volcano.namespace=volcano,volcano.release=v --set scheduler.featureGates.B=false,scheduler.featureGates.A=true --set 'scheduler.names={volcano,gpu}' --set scheduler.defaultQueue=shared"))
	for key, o := range all {
		if namespace := at(o, "metadata", "namespace"); namespace != nil {
			e.Expect(namespace).To(BeElementOf("batch", "kube-system"), key)
		}
	}
	e.Expect(at(all["ClusterRoleBinding gpu-scheduler-role"], "subjects", 0)).To(Equal(object{"kind": "ServiceAccount", "name": "gpu-scheduler", "namespace": "batch"}))
	e.Expect(at(all["ClusterRoleBinding gpu-scheduler-role"], "roleRef", "name")).To(Equal("gpu-scheduler"))
	e.Expect(at(all["ValidatingAdmissionPolicy devicequota-charges"], "spec", "matchConditions", 0, "expression")).To(
		Equal("request.userInfo.username != 'system:serviceaccount:batch:gpu-scheduler'"))
	reader := all["RoleBinding gpu-scheduler-authentication-reader"]
	e.Expect(at(reader, "metadata", "namespace")).To(Equal("kube-system"))
	e.Expect(at(reader, "subjects", 0)).To(Equal(object{"kind": "ServiceAccount", "name": "gpu-scheduler", "namespace": "batch"}))
	e.Expect(at(all["ClusterRoleBinding devicequota-controllers"], "subjects")).To(ContainElements(
		object{"kind": "ServiceAccount", "name": "gpu-scheduler", "namespace": "batch"},
		object{"kind": "ServiceAccount", "name": "v-controllers", "namespace": "volcano"},
		object{"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"}))
	e.Expect(at(all["ValidatingAdmissionPolicy devicequota-queues"], "spec", "variables")).To(ContainElements(
		object{"name": "schedulerNames", "expression": "['volcano', 'gpu']"}, object{"name": "defaultQueue", "expression": "'shared'"}))
	args := texts(at(all["Deployment gpu-scheduler"], "spec", "template", "spec", "containers", 0, "args"))
	e.Expect(args).To(ContainElements("--leader-elect-resource-namespace=batch", "--feature-gates=A=true,B=false", "--scheduler-name=volcano", "--scheduler-name=gpu"))
	text, err := os.ReadFile(filepath.Join(root, "config/crd-before-1.34/scheduling.volcano.sh_queues.yaml"))
	e.Expect(err).NotTo(HaveOccurred())
	older := object{}
	e.Expect(unmarshal(string(text), &older)).To(Succeed())
	e.Expect(all["CustomResourceDefinition queues.scheduling.volcano.sh"]["spec"]).To(Equal(older["spec"]), "the CRD for Kubernetes 1.33")
}

func TestNothingNamesAnotherScheduler(t *testing.T) {
	e := newEnvironment(t)
	out := e.sh("helm template gpu charts/devicequota --namespace batch --set image.repository=r --set volcano.namespace=elsewhere,volcano.release=v " +
		"--set webhook.enabled=true")
	e.Expect(out).NotTo(ContainSubstring("volcano-system"), "the namespace of config/ is left in the chart")
	e.Expect(out).NotTo(ContainSubstring("serviceaccount:elsewhere:volcano-"), "the release of config/ is left in the chart")
}

func TestNoAPIServiceIsThereUntilASchedulerRuns(t *testing.T) {
	e := newEnvironment(t)
	const service = "APIService v1alpha1.visibility.devicequota.io"
	e.Expect(e.render("devicequota")).To(HaveKey(service))
	e.Expect(e.render("devicequota", "--set visibility.apiService=false")).NotTo(HaveKey(service))
	stopped := e.render("devicequota", "--set scheduler.replicas=0")
	e.Expect(stopped).NotTo(HaveKey(service), "while it is unavailable, the deletion of namespaces waits")
	e.Expect(stopped).To(HaveKey("Service devicequota-visibility"))
}

func TestAPIServersVerifyACertificateThatTheSchedulerIsGiven(t *testing.T) {
	e := newEnvironment(t)
	all := e.render("devicequota", "--set visibility.certificate.secret=tls,visibility.certificate.caBundle=Q0E=")
	spec := at(all["APIService v1alpha1.visibility.devicequota.io"], "spec")
	e.Expect(at(spec, "caBundle")).To(Equal("Q0E="))
	e.Expect(at(spec, "insecureSkipTLSVerify")).To(BeNil())
	pod := at(all["Deployment devicequota-scheduler"], "spec", "template", "spec")
	e.Expect(texts(at(pod, "containers", 0, "args"))).To(ContainElements("--visibility-cert-file=/visibility/tls.crt", "--visibility-key-file=/visibility/tls.key"))
	e.Expect(at(pod, "containers", 0, "volumeMounts")).To(ContainElement(object{"name": "visibility-certificate", "mountPath": "/visibility", "readOnly": true}))
	e.Expect(at(pod, "volumes")).To(ContainElement(object{"name": "visibility-certificate", "secret": object{"secretName": "tls"}}))
}

func TestWithoutSchedulerTheRestStays(t *testing.T) {
	e := newEnvironment(t)
	all := e.render("devicequota", "--set scheduler.enabled=false,serviceAccount.create=false,serviceAccount.name=volcano-scheduler --set image.repository=")
	e.Expect(all).To(HaveKey("CustomResourceDefinition queues.scheduling.volcano.sh"))
	for key := range all {
		e.Expect(key).NotTo(HavePrefix("Deployment"))
		e.Expect(key).NotTo(HavePrefix("ServiceAccount"))
	}
	e.Expect(at(all["ClusterRoleBinding devicequota-scheduler-role"], "subjects", 0, "name")).To(Equal("volcano-scheduler"))
	e.Expect(at(all["ValidatingAdmissionPolicy devicequota-charges"], "spec", "matchConditions", 0, "expression")).To(
		Equal("request.userInfo.username != 'system:serviceaccount:volcano-system:volcano-scheduler'"))
}
