// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/test/cluster"
)

// timeout bounds every wait for a condition. It is generous, because only a failing test waits so long.
const timeout = time.Minute

var (
	controlPlane *cluster.Cluster
	kube         kubernetes.Interface
	queues       versioned.Interface
	vc           volcano.Interface
	invariants   *podWatch
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(timeout)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "devicequota")
}

var _ = BeforeSuite(func(ctx context.Context) {
	shared := must(cluster.Start(context.Background(), cluster.Options{
		Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")},
		// A short period makes the suite fast, and makes faults likely that need many cycles.
		SchedulerArgs: []string{"--schedule-period=20ms"},
	}))
	DeferCleanup(shared.Stop)
	DeferCleanup(checkSchedulerLog)
	connect(shared)
	invariants = watchPods()
	DeferCleanup(invariants.stop)

	root := getQueue(ctx, "root")
	root.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{rootLimited: {Count: 3}}}
	must(queues.SchedulingV1beta1().Queues().Update(ctx, root, metav1.UpdateOptions{}))
}, NodeTimeout(4*timeout))

// ownCluster runs another cluster. The package's variables refer to it until the current container ends.
func ownCluster(options cluster.Options) {
	options.SchedulerArgs = append(options.SchedulerArgs, "--schedule-period=20ms")
	own := must(cluster.Start(context.Background(), options))
	before, beforeWatch := controlPlane, invariants
	connect(own)
	invariants = watchPods()
	DeferCleanup(func() error {
		checkSchedulerLog()
		apiServerRestarted = false
		invariants.stop()
		invariants = beforeWatch
		connect(before)
		return own.Stop()
	})
}

func connect(c *cluster.Cluster) {
	controlPlane = c
	kube = kubernetes.NewForConfigOrDie(c.Config())
	queues = versioned.NewForConfigOrDie(c.Config())
	vc = volcano.NewForConfigOrDie(c.Config())
}

var _ = AfterEach(func() {
	select {
	case err := <-controlPlane.Failed():
		Fail(err.Error())
	default:
	}
	Expect(invariants.violations()).To(BeEmpty(), "pods ran without the devices of their claims")
})

var _ = JustAfterEach(func(ctx context.Context) {
	if CurrentSpecReport().Failed() {
		reportFailure(ctx)
	}
})

// schedulerLog returns the log of the cluster's scheduler and those of its replicas.
func schedulerLog() string {
	var all strings.Builder
	for _, file := range must(filepath.Glob(filepath.Join(controlPlane.State(), "logs", cluster.VolcanoScheduler+"*.log"))) {
		all.Write(must(os.ReadFile(file)))
	}
	return all.String()
}

// apiServerRestarted says that the API server of the cluster was restarted. It refuses requests until it has read the roles.
var apiServerRestarted bool

func restartAPIServer(ctx context.Context) {
	GinkgoHelper()
	apiServerRestarted = true
	Expect(controlPlane.Restart(ctx, cluster.APIServer)).To(Succeed())
}

// checkSchedulerLog fails if the log shows missing permissions in config/rbac, recovered panics, failed charges, or old copies. Refusals by a
// policy of a spec, or in a namespace that is being deleted, are not missing permissions.
func checkSchedulerLog() {
	for line := range strings.Lines(schedulerLog()) {
		if strings.Contains(line, refusedByPolicy) || strings.Contains(line, "because it is being terminated") || apiServerRestarted && strings.Contains(line, "is forbidden") {
			continue
		}
		Expect(line).NotTo(SatisfyAny(
			ContainSubstring("is forbidden"), ContainSubstring("panic"), ContainSubstring("Failed to charge"), ContainSubstring("Failed to refund"),
			ContainSubstring("Sessions used an old copy")))
	}
}
