// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/page"
)

// release is what a manifest of docs/gitops.md installs.
type release struct {
	chart   string
	values  any
	patches []any
}

// TestTheGitOpsPage checks docs/gitops.md with the CRDs of Argo CD and Flux, and does with the charts what these would do.
func TestTheGitOpsPage(t *testing.T) {
	e := newCluster(t)
	module := func(path string) string {
		return strings.TrimSpace(e.sh("go mod download -json " + path + ` | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'`))
	}
	flux := "/config/crd/bases/"
	e.sh("kubectl create namespace argocd && kubectl create namespace volcano-system && kubectl apply --server-side" +
		" -f " + module("github.com/argoproj/argo-cd/v3@v3.5.1") + "/manifests/crds/application-crd.yaml" +
		" -f " + module("github.com/fluxcd/helm-controller@v1.6.3") + flux + "helm.toolkit.fluxcd.io_helmreleases.yaml" +
		" -f " + module("github.com/fluxcd/source-controller@v1.9.1") + flux + "source.toolkit.fluxcd.io_ocirepositories.yaml" +
		" -f " + module("github.com/fluxcd/source-controller@v1.9.1") + flux + "source.toolkit.fluxcd.io_helmrepositories.yaml")

	var releases []release
	for i, block := range page.Block.FindAllStringSubmatch(e.fileOf("docs/gitops.md"), -1) {
		e.Expect(block[1]).To(Equal("yaml"))
		file := filepath.Join(t.TempDir(), fmt.Sprint(i, ".yaml"))
		e.write(file, block[2], 0o600)
		e.Eventually(func() error {
			_, err := e.try("kubectl apply --server-side --validate=strict --dry-run=server -f " + file)
			return err
		}).Should(Succeed(), block[2])
		for _, o := range e.objects(block[2]) {
			switch o["kind"] {
			case "Application":
				releases = append(releases, release{fmt.Sprint(at(o, "spec", "source", "chart")), at(o, "spec", "source", "helm", "valuesObject"), nil})
			case "HelmRelease":
				patches, _ := at(o, "spec", "postRenderers", 0, "kustomize", "patches").([]any)
				name, _ := at(o, "spec", "chart", "spec", "chart").(string)
				if name == "" {
					name = "devicequota" // the OCIRepository names it
				}
				releases = append(releases, release{name, at(o, "spec", "values"), patches})
			}
		}
	}
	e.Expect(releases).To(HaveLen(4))

	e.installVolcano("v1.14.1")
	volcano := object{}
	e.Expect(unmarshal(e.sh("helm show values "+e.volcanoChart("v1.14.1")), &volcano)).To(Succeed())
	var crdIsDeleted string
	for i, r := range releases {
		values := filepath.Join(t.TempDir(), fmt.Sprint("values-", i, ".yaml"))
		text, err := json.Marshal(r.values) // JSON is YAML
		e.Expect(err).NotTo(HaveOccurred())
		e.write(values, string(text), 0o600)
		if r.chart == "volcano" {
			e.Expect(at(volcano, "custom", "scheduler_enable")).NotTo(BeNil(), "a value of Volcano's chart")
			e.Expect(at(r.values, "custom", "scheduler_enable")).NotTo(BeNil())
			if len(r.patches) > 0 {
				crdIsDeleted = e.postRenderer(r.patches)
			}
			continue
		}
		e.Expect(r.chart).To(Equal("devicequota"))
		e.step(fmt.Sprint("the chart is applied on the server with the values of manifest ", i), func(e *environment) {
			e.sh("helm template devicequota charts/devicequota --namespace volcano-system --kube-version 1.34.1 --values " + values +
				" | kubectl apply --server-side --force-conflicts --field-manager argocd-controller -f -")
			e.Expect(e.servesDRA()).To(BeTrue())
		})
	}
	e.step("without the Queue CRD in Volcano's release, the CRD and the quotas stay", func(e *environment) {
		e.queue("team", 2)
		e.installVolcano("v1.14.1", "--reset-then-reuse-values --post-renderer "+crdIsDeleted)
		e.Expect(e.sh("helm get manifest volcano --namespace volcano-system")).NotTo(ContainSubstring("queues.scheduling.volcano.sh"))
		e.Consistently(e.servesDRA, "3s").Should(BeTrue())
		e.Expect(e.sh("kubectl get queue team -o jsonpath={.spec.dra.capability}")).To(ContainSubstring("2"))
	})
}

// postRenderer returns a program that changes what Helm renders with patches of kustomize, as Flux does.
func (e *environment) postRenderer(patches []any) string {
	e.t.Helper()
	kustomization, err := json.Marshal(object{"resources": []string{"all.yaml"}, "patches": patches})
	e.Expect(err).NotTo(HaveOccurred())
	folder := e.t.TempDir()
	e.write(filepath.Join(folder, "kustomization.yaml"), string(kustomization), 0o600)
	program := filepath.Join(folder, "post-render.sh")
	e.write(program, "#!/bin/sh\nset -eu\ncat > "+folder+"/all.yaml\nkubectl kustomize "+folder+"\n", 0o755)
	return program
}
