// SPDX-License-Identifier: Apache-2.0

//go:build monitoring

package monitoring

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/test/cluster"
)

// exported is what the scheduler exported. The checks with promtool's parsers read it.
const exported = "../../bin/scheduler-metrics.txt"

// ours is the part of it that this project defines, for promtool's linter.
const ours = "../../bin/own-metrics.txt"

func TestTheSchedulerExportsTheListOfMetrics(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	c := start(ctx, t)

	// The borrower has all devices but the one that is guaranteed to another queue, and one of its pods has to go for the lender.
	apply(ctx, t, c, pod("device-0", "devices", "devices", "cpu: 1", "one-h100"))
	for i := range 3 {
		apply(ctx, t, c, pod(fmt.Sprint("borrower-", i), "borrower", "devices", "cpu: 1", "one-h100"))
	}
	waitFor(ctx, t, c,
		`volcano_queue_device_class_allocated{device_class="nvidia-h100",queue="devices"} 1`,
		`volcano_queue_device_class_allocated{device_class="nvidia-h100",queue="borrower"} 3`)
	apply(ctx, t, c,
		pod("lender", "lender", "devices", "cpu: 1", "one-h100"),
		pod("device-1", "devices", "devices", "cpu: 1", "one-h100"),
		pod("card", "cards", "cards", "cpu: 1, nvidia.com/gpu: 1", ""),
		// Volcano's action reclaim considers a pod without devices, and says which queues hold more than they deserve.
		pod("large", "lender", "plain", "cpu: 2", ""), pod("larger", "lender", "plain", "cpu: 3", ""))
	waitFor(ctx, t, c,
		`volcano_queue_evictions_total{action="reclaim",for_queue="lender",queue="borrower"} 1`,
		`volcano_eviction_promise_duration_seconds_count{action="reclaim"} 1`,
		`volcano_queue_waiting_pods{queue="devices",reason="InsufficientScalarQuota"} 1`,
		`volcano_queue_card_allocated{card="NVIDIA-H200",queue="cards"} 1`,
		`leader_election_master_status{name="`+metric.SchedulerLease+`"} 1`,
		`volcano_queue_quota_field_served 1`, `volcano_scheduler_configuration_valid 1`)
	waitForSeries(ctx, t, c, metric.DeviceSeconds, metric.DeviceCapacitySeconds, metric.CardSeconds, metric.ResourceSeconds, metric.GuaranteedIdleSeconds, metric.WaitedSeconds, metric.ClusterCapacity)

	text := metrics(ctx, t, c)
	families := parse(t, text)
	checkList(t, families)
	save(t, text, families)

	for _, page := range []string{"alerts.md", "monitoring.md"} {
		t.Run("the commands of "+page+" work", func(t *testing.T) { runCommands(ctx, t, c, page) })
	}
}

func start(ctx context.Context, t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(ctx, cluster.Options{
		SchedulerConfig: "testdata/scheduler.conf", Manifests: []string{"testdata/cluster.yaml"},
		SchedulerArgs: []string{"--leader-elect=true", "--leader-elect-resource-namespace=volcano-system"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func apply(ctx context.Context, t *testing.T, c *cluster.Cluster, manifests ...string) {
	t.Helper()
	if err := c.ApplyYAML(ctx, t.Name(), []byte(strings.Join(manifests, "---\n"))); err != nil {
		t.Fatal(err)
	}
}

// pod returns a pod of a queue for a kind of nodes, with a claim if template is not empty.
func pod(name, queue, kind, requests, template string) string {
	claims, use := "", ""
	if template != "" {
		claims, use = "resourceClaims: [{name: gpu, resourceClaimTemplateName: "+template+"}]", ", claims: [{name: gpu}]"
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, annotations: {scheduling.volcano.sh/queue-name: %s}}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  nodeSelector: {kind: %s}
  %s
  containers: [{name: main, image: "registry.example.com/main:v1", resources: {requests: {%s}, limits: {%[5]s}%s}}]
`, name, queue, kind, claims, requests, use)
}

func metrics(ctx context.Context, t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.SchedulerMetricsURL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// waitFor waits until the scheduler exports these lines.
func waitFor(ctx context.Context, t *testing.T, c *cluster.Cluster, lines ...string) {
	t.Helper()
	var missing []string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		text := metrics(ctx, t, c)
		missing = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(text, line+"\n") })
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Fatalf("the scheduler exports\n%s\nbut not\n%s", metrics(ctx, t, c), strings.Join(missing, "\n"))
	}
}

// waitForSeries waits until the scheduler exports some series of each metric: the record of usage is some seconds behind.
func waitForSeries(ctx context.Context, t *testing.T, c *cluster.Cluster, all ...metric.Metric) {
	t.Helper()
	var missing []metric.Metric
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		text := metrics(ctx, t, c)
		missing = slices.DeleteFunc(slices.Clone(all), func(m metric.Metric) bool { return strings.Contains(text, m.Name+"{") })
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Fatalf("the scheduler exports no series of %v", missing)
	}
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// checkList compares the list with what the scheduler exports: each metric of the list is there, as the list describes it, and there
// is none of this project that the list lacks.
func checkList(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	listed := map[string]bool{}
	for _, group := range metric.Groups() {
		for _, m := range group.Metrics {
			listed[m.Name] = true
			if strings.HasPrefix(m.Name, "volcano_dispatcher_") {
				continue // pkg/dispatcher/internal/report tests them
			}
			family := families[m.Name]
			if family == nil {
				t.Errorf("the scheduler does not export %s", m.Name)
				continue
			}
			if kind := strings.ToLower(family.GetType().String()); kind != string(m.Type) {
				t.Errorf("%s is a %s, and the list says %s", m.Name, kind, m.Type)
			}
			if !group.Foreign && family.GetHelp() != m.Help {
				t.Errorf("%s: the help is %q, and the list says %q", m.Name, family.GetHelp(), m.Help)
			}
			var labels []string
			for _, label := range family.GetMetric()[0].GetLabel() {
				labels = append(labels, label.GetName())
			}
			if want := slices.Sorted(slices.Values(m.Labels)); !slices.Equal(slices.Sorted(slices.Values(labels)), want) {
				t.Errorf("%s has the labels %q, and the list says %q", m.Name, labels, want)
			}
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "volcano_") && !listed[name] && !volcanos.MatchString(name) {
			t.Errorf("the list lacks %s", name)
		}
	}
}

// volcanos are metrics of Volcano that nothing here reads.
var volcanos = regexp.MustCompile(`^volcano_(e2e_job_|task_|schedule_|pod_preemption|total_preemption|unschedule_|job_|namespace_|queue_weight|goroutines)`)

func save(t *testing.T, text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	var own strings.Builder
	for _, group := range metric.Groups() {
		for _, m := range group.Metrics {
			if family := families[m.Name]; family != nil && !group.Foreign {
				if _, err := expfmt.MetricFamilyToText(&own, family); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for file, text := range map[string]string{exported: text, ours: own.String()} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// runCommands runs the commands of a page, with the kubectl of the control plane's version, in the root of the repository.
func runCommands(ctx context.Context, t *testing.T, c *cluster.Cluster, page string) {
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nexec "+bin+"/controlplane kubectl \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	blocks := map[string]bool{}
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		blocks[block[1]] = true
	}
	if len(blocks) == 0 {
		t.Error("the page has no commands")
	}
	for _, commands := range slices.Sorted(maps.Keys(blocks)) {
		shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
		shell.Dir = filepath.Dir(bin)
		shell.Env = append(os.Environ(), "PATH="+dir+":"+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig())
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", commands, err, out)
		}
	}
}
