// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/report"
	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("The record of usage", func() {
	It("has exactly the seconds for which pods held devices, whatever happens to the scheduler", func(ctx context.Context) {
		Expect(controlPlane.UseScheduler(ctx, cluster.Ours, accountingConfig())).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.UseScheduler(ctx, cluster.Ours, "") })
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("train", queue, 2))
		f.expectRunning(ctx, "train", 2)
		begins := f.allocatedSince(ctx, 2)
		f.submit(ctx, gang("late", queue, 1))

		By("counting pods that run")
		through := expectUsed(ctx, queue, f.class, begins, time.Time{})

		By("going on after a restart")
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		expectUsed(ctx, queue, f.class, begins, through.Add(5*time.Second))

		By("publishing counters that say the same")
		var row reportRow
		Eventually(func() float64 {
			row = readRows(ctx, queue)[f.class]
			return row.waited
		}).WithContext(ctx).Should(BeNumerically(">", 0), "the job late waits")
		Eventually(func() float64 { return counterOf(ctx, queue, f.class) }).WithContext(ctx).Should(BeNumerically(">=", row.used))

		By("counting no more when the pods are gone")
		f.deleteJob(ctx, "late")
		f.deleteJob(ctx, "train")
		Eventually(func() int { return len(f.pods(ctx, "train")) }).WithContext(ctx).Should(BeZero())
		gone := time.Now()
		Eventually(func() time.Time { return checkpoint(ctx).Spec.Through.Time }).WithContext(ctx).Should(BeTemporally(">", gone.Add(3*time.Second)))
		last := readRows(ctx, queue)[f.class].used
		Expect(last).To(BeNumerically("<=", secondsSince(begins, gone.Add(3*time.Second))))
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		Eventually(func() float64 { return counterOf(ctx, queue, f.class) }).WithContext(ctx).Should(Equal(last))
		Expect(readRows(ctx, queue)[f.class].used).To(Equal(last))
	}, SpecTimeout(3*time.Minute))

	It("is reported by the commands of the page", func(ctx context.Context) {
		prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		}))
		defer prometheus.Close()
		page := must(os.ReadFile("../../docs/accounting.md"))
		commands := regexp.MustCompile(`(?m)^    kubectl devicequota report(.*)$`).FindAllStringSubmatch(string(page), -1)
		Expect(commands).To(HaveLen(5))
		for _, command := range commands {
			arguments := strings.Fields(strings.ReplaceAll(command[1], "http://localhost:9090", prometheus.URL))
			Expect(runReport(ctx, arguments...)).NotTo(BeEmpty(), "%s", command[0])
		}
	})
})

// accountingConfig returns a file with the configuration in config/scheduler, but with a record that is written every second.
func accountingConfig() string {
	GinkgoHelper()
	shipped := must(os.ReadFile(filepath.Join("..", "..", "config", "scheduler", "volcano-scheduler.conf")))
	Expect(capacityArgument.FindAll(shipped, -1)).To(HaveLen(1))
	path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
	conf := capacityArgument.ReplaceAllString(string(shipped), "$0\n      accountingInterval: 1s")
	Expect(os.WriteFile(path, []byte(conf), 0o600)).To(Succeed())
	return path
}

// allocatedSince returns when the claims of the namespace got their devices. Their pods may have got their nodes up to a second later.
func (f *fixture) allocatedSince(ctx context.Context, claims int) []time.Time {
	GinkgoHelper()
	list := must(kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, metav1.ListOptions{}))
	var times []time.Time
	for _, claim := range list.Items {
		if claim.Status.Allocation != nil && claim.Status.Allocation.AllocationTimestamp != nil {
			times = append(times, claim.Status.Allocation.AllocationTimestamp.Time)
		}
	}
	Expect(times).To(HaveLen(claims))
	return times
}

func secondsSince(begins []time.Time, end time.Time) float64 {
	sum := 0.0
	for _, begin := range begins {
		sum += float64(end.Unix() - begin.Unix())
	}
	return sum
}

func checkpoint(ctx context.Context) *v1alpha1.UsageCheckpoint {
	GinkgoHelper()
	return must(store.NewClient(dynamic.NewForConfigOrDie(controlPlane.Config())).Checkpoints.Get(ctx, v1alpha1.CheckpointName))
}

// expectUsed waits until the record is complete up to a time at which all pods have run for a while. It checks that the report has the
// device-seconds of one device for each pod, and returns the time up to which it was complete.
func expectUsed(ctx context.Context, queue, class string, begins []time.Time, after time.Time) time.Time {
	GinkgoHelper()
	var through time.Time
	Eventually(func(g Gomega) {
		before := checkpoint(ctx)
		through = before.Spec.Through.Time
		for _, begin := range append(begins, after) {
			g.Expect(through).To(BeTemporally(">", begin))
		}
		rows := readRows(ctx, queue)
		g.Expect(checkpoint(ctx).ResourceVersion).To(Equal(before.ResourceVersion))
		g.Expect(rows[class].used).To(Equal(secondsSince(begins, through)), "device-seconds up to %s", through)
	}).WithContext(ctx).Should(Succeed())
	return through
}

// reportRow is a row of the report, in seconds.
type reportRow struct{ used, idle, waited float64 }

// readRows returns the rows of the report for a queue, by class.
func readRows(ctx context.Context, queue string) map[string]reportRow {
	GinkgoHelper()
	lines := must(csv.NewReader(strings.NewReader(runReport(ctx, "--by", "queue,class", "-o", "csv"))).ReadAll())
	rows := map[string]reportRow{}
	for _, line := range lines[1:] {
		if line[0] != queue || line[2] != "device" {
			continue
		}
		var values [3]float64
		for i := range values {
			values[i] = must(strconv.ParseFloat(line[6+i], 64))
		}
		rows[line[1]] = reportRow{values[0], values[1], values[2]}
	}
	return rows
}

// runReport runs kubectl devicequota report.
func runReport(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	var out, notes strings.Builder
	options := cli.NewOptions(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &notes})
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*kubeconfigOf(controlPlane.Config()), path)).To(Succeed())
	options.Config.KubeConfig = &path
	command := report.New(options)
	command.SetArgs(arguments)
	command.SetErr(&notes)
	Expect(command.ExecuteContext(ctx)).To(Succeed(), "%s", notes.String())
	return out.String()
}

// kubeconfigOf returns a kubeconfig with the credentials of a client.
func kubeconfigOf(config *rest.Config) *clientcmdapi.Config {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
	}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	return kubeconfig
}

// counterOf returns the counter of device-seconds of a queue and a class, zero if there is none.
func counterOf(ctx context.Context, queue, class string) float64 {
	GinkgoHelper()
	request := must(http.NewRequestWithContext(ctx, http.MethodGet, controlPlane.SchedulerMetricsURL(), nil))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0 // the scheduler does not run
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0
	}
	pattern := regexp.MustCompile(`(?m)^volcano_queue_device_seconds_total\{device_class="` + regexp.QuoteMeta(class) + `",namespace="[^"]*",queue="` + regexp.QuoteMeta(queue) + `"\} (\S+)$`)
	match := pattern.FindStringSubmatch(string(body))
	if match == nil {
		return 0
	}
	return must(strconv.ParseFloat(match[1], 64))
}
