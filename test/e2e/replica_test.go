// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// electing are flags of replicas that quickly notice the loss of the leader. A leader on a slow machine still has time to renew its lease.
var electing = []string{
	"--leader-elect=true", "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=100ms",
}

// replica is an additional scheduler of the cluster.
type replica struct {
	command *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
}

func (r *replica) signal(s os.Signal) error { return r.command.Process.Signal(s) }

// schedulerKubeconfig returns the kubeconfig of the cluster's scheduler.
func schedulerKubeconfig() string {
	return filepath.Join(controlPlane.State(), "kubeconfigs", cluster.VolcanoScheduler)
}

// startReplica runs another scheduler of the cluster, and returns the address of its visibility server. Its log is beside that of the cluster's
// scheduler.
func startReplica(kubeconfig, podIP string) (string, *replica) {
	GinkgoHelper()
	address, release, err := cluster.ReserveAddress()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(release)
	r := &replica{ended: make(chan struct{}), command: exec.Command("../../bin/vc-scheduler", append([]string{
		"--kubeconfig=" + kubeconfig, "--visibility-bind-address=" + address,
		"--scheduler-conf=" + controlPlane.SchedulerConfigFile(), "--cache-dumper=false", "--schedule-period=20ms",
		"--feature-gates=" + cluster.FeatureGates(),
	}, electing...)...)}
	r.command.Env = append(os.Environ(), "POD_IP="+podIP, "DEBUG_SOCKET_DIR="+os.DevNull)
	log := must(os.Create(filepath.Join(controlPlane.State(), "logs", fmt.Sprintf("%s-%s.log", cluster.VolcanoScheduler, podIP))))
	r.command.Stdout, r.command.Stderr = log, log
	Expect(r.command.Start()).To(Succeed())
	Expect(log.Close()).To(Succeed())
	go func() {
		defer close(r.ended)
		_ = r.command.Wait() // its exit code does not matter
	}()
	DeferCleanup(func() {
		_ = r.command.Process.Kill()
		<-r.ended
	})
	return address, r
}
