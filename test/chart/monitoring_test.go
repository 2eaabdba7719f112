// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const monitored = "--set monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true,monitoring.dashboards.enabled=true " +
	"--set monitoring.serviceMonitor.labels.release=p,monitoring.prometheusRule.labels.release=p "

// installations are the ways to install the scheduler, each with the flags of the chart that monitors it.
var installations = map[string]string{
	"the chart":                         "",
	"the chart with another name":       "--set fullnameOverride=cards --set 'scheduler.names={gpu,volcano}'",
	"a canary":                          canary,
	"Volcano's Deployment, by its own":  "--set scheduler.enabled=false,serviceAccount.create=false,serviceAccount.name=volcano-scheduler",
	"the kustomization, without charts": "",
}

// installed returns the objects that a way of installation creates, and the objects that monitor it.
func (e *environment) installed(way string) (scheduler, monitoring map[string]object) {
	e.t.Helper()
	rendered := e.render("ours", monitored+installations[way])
	switch {
	case strings.HasPrefix(way, "Volcano's"):
		return e.objects(e.sh("helm template volcano " + e.volcanoChart("v1.14.1") + " --namespace volcano-system --set custom.leader_elect_enable=true")), rendered
	case strings.HasPrefix(way, "the kustomization"):
		files := e.fileOf("config/monitoring/servicemonitor.yaml") + "---\n" + e.fileOf("config/monitoring/prometheusrule.yaml")
		return e.objects(e.sh("kubectl kustomize config")), e.objects(files)
	}
	return rendered, rendered
}

// one returns the only object of a kind with a part in its name.
func (e *environment) one(all map[string]object, kind, part string) object {
	e.t.Helper()
	var found []object
	for key, o := range all {
		if name, is := strings.CutPrefix(key, kind+" "); is && strings.Contains(name, part) {
			found = append(found, o)
		}
	}
	e.Expect(found).To(HaveLen(1), "%s %s", kind, part)
	return found[0]
}

func TestPrometheusFindsTheSchedulerHoweverItIsInstalled(t *testing.T) {
	for way := range installations {
		t.Run(way, func(t *testing.T) {
			e := newEnvironment(t)
			all, monitoring := e.installed(way)
			part := "scheduler"
			if strings.Contains(way, "another name") {
				part = "cards"
			}
			service, monitor := e.one(all, "Service", part), e.one(monitoring, "ServiceMonitor", "")
			pod := at(e.one(all, "Deployment", part), "spec", "template")

			e.Expect(at(monitor, "metadata", "namespace")).To(Equal(at(service, "metadata", "namespace")), "a ServiceMonitor selects in its own namespace")
			for key, o := range all {
				if strings.HasPrefix(key, "Service ") {
					e.Expect(selects(at(monitor, "spec", "selector", "matchLabels"), at(o, "metadata", "labels"))).To(Equal(at(o, "metadata", "name") == at(service, "metadata", "name")), key)
				}
			}
			e.Expect(at(monitor, "spec", "endpoints", 0, "port")).To(Equal(at(service, "spec", "ports", 0, "name")))
			e.Expect(selects(at(service, "spec", "selector"), at(pod, "metadata", "labels"))).To(BeTrue())

			lease := "volcano"
			for _, arg := range texts(at(pod, "spec", "containers", 0, "args")) {
				if name, is := strings.CutPrefix(arg, "--leader-elect-resource-name="); is {
					lease = name
				}
			}
			e.Expect(leases(expressions(e.one(monitoring, "PrometheusRule", "")))).To(ConsistOf(lease, "vc-dispatcher"))
			if board, _ := at(monitoring["ConfigMap ours-scheduler-dashboards"], "data", "dashboard.json").(string); board != "" {
				e.Expect(leases(strings.ReplaceAll(board, `\"`, `"`))).To(ConsistOf(lease))
			}
			e.Expect(keptWithoutOperator(e, at(pod, "metadata", "labels").(object))).To(BeTrue(), "config/monitoring/prometheus.yaml")
		})
	}
}

// selects reports whether labels have all labels of a selector.
func selects(selector, labels any) bool {
	for key, value := range selector.(object) {
		if at(labels, key) != value {
			return false
		}
	}
	return true
}

// expressions returns the queries of rules.
func expressions(rules object) (text string) {
	groups, _ := at(rules, "spec", "groups").([]any)
	for _, group := range groups {
		list, _ := at(group, "rules").([]any)
		for _, rule := range list {
			text += at(rule, "expr").(string) + "\n"
		}
	}
	return text
}

// leases returns the names of leases in queries.
func leases(text string) (names []string) {
	for _, found := range regexp.MustCompile(`leader_election_master_status\{name!?="([^"]+)"\}`).FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keptWithoutOperator reports whether config/monitoring/prometheus.yaml keeps a pod with these labels.
func keptWithoutOperator(e *environment, labels object) bool {
	e.t.Helper()
	var configuration object
	e.Expect(unmarshal(e.fileOf("config/monitoring/prometheus.yaml"), &configuration)).To(Succeed())
	keep := at(configuration, "scrape_configs", 0, "relabel_configs", 0)
	e.Expect(at(keep, "action")).To(Equal("keep"))
	var values []string
	for _, source := range texts(at(keep, "source_labels")) {
		value := ""
		for key, is := range labels {
			if source == "__meta_kubernetes_pod_label_"+regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(key, "_") {
				value = is.(string)
			}
		}
		values = append(values, value)
	}
	return regexp.MustCompile("^(?:" + at(keep, "regex").(string) + ")$").MatchString(strings.Join(values, ";"))
}

func TestTheChartMonitorsWithTheFilesOfConfig(t *testing.T) {
	e := newEnvironment(t)
	rendered := e.render("gpu", monitored)
	var want object
	e.Expect(unmarshal(e.fileOf("config/monitoring/rules.yaml"), &want)).To(Succeed())
	e.Expect(at(rendered["PrometheusRule gpu-scheduler"], "spec")).To(Equal(want))
	board := rendered["ConfigMap gpu-scheduler-dashboards"]
	e.Expect(at(board, "data", "dashboard.json")).To(Equal(e.fileOf("config/monitoring/dashboard.json")))
	e.Expect(at(board, "metadata", "labels", "grafana_dashboard")).To(Equal("1"))
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		e.Expect(at(rendered[kind+" gpu-scheduler"], "metadata", "labels", "release")).To(Equal("p"))
	}
}

// operatorCRDs returns the folder of the CRDs of Prometheus' operator.
func (e *environment) operatorCRDs() string {
	e.t.Helper()
	dir := strings.TrimSpace(e.sh(`go mod download -json github.com/prometheus-operator/prometheus-operator@v0.85.0 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'`))
	return filepath.Join(dir, "example/prometheus-operator-crd")
}

// installOperatorCRDs installs the CRDs of Prometheus' operator.
func (e *environment) installOperatorCRDs() {
	e.t.Helper()
	crds := e.operatorCRDs()
	e.sh("kubectl apply --server-side -f " + crds + "/monitoring.coreos.com_servicemonitors.yaml -f " + crds + "/monitoring.coreos.com_prometheusrules.yaml")
	e.Eventually(func() error {
		_, err := e.try("kubectl get servicemonitors,prometheusrules")
		return err
	}).Should(Succeed(), "the API server serves them")
}

// tryTheOperator installs the monitoring of the scheduler with and without the chart. The API server refuses fields that the CRDs of
// Prometheus' operator do not have.
func (e *environment) tryTheOperator() {
	e.t.Helper()
	e.installOperatorCRDs()
	e.sh("kubectl apply --server-side --validate=strict -f config/monitoring/servicemonitor.yaml -f config/monitoring/prometheusrule.yaml")
	e.sh("helm template devicequota charts/devicequota --namespace volcano-system --show-only templates/monitoring.yaml --set image.repository=r " + monitored +
		"| kubectl apply --server-side --validate=strict --dry-run=server -f -")
	e.installOurs("--reset-then-reuse-values", monitored)
	e.Expect(e.sh("kubectl -n volcano-system get servicemonitors,prometheusrules -l app.kubernetes.io/instance=devicequota -o name")).
		To(Equal("servicemonitor.monitoring.coreos.com/devicequota-scheduler\nprometheusrule.monitoring.coreos.com/devicequota-scheduler\n"))
}
