// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path/filepath"
	"slices"
)

// Components of Karmada. It has an Etcd, an APIServer and a ControllerManager, too.
const (
	KarmadaScheduler         = "karmada-scheduler"
	KarmadaControllerManager = "karmada-controller-manager"
	KarmadaWebhook           = "karmada-webhook"
	karmadaProgram           = "karmada"
)

// karmadaIdentities are the users of Karmada's components, of the dispatchers, and of the administrator.
var karmadaIdentities = map[string]identity{
	admin:                    identities[admin],
	Etcd:                     identities[Etcd],
	APIServer:                identities[APIServer],
	ControllerManager:        identities[ControllerManager],
	KarmadaScheduler:         {user: KarmadaScheduler},
	KarmadaControllerManager: {user: KarmadaControllerManager},
	KarmadaWebhook:           {user: KarmadaWebhook},
	dispatcherProgram: {
		user:   "system:serviceaccount:volcano-system:vc-dispatcher",
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:volcano-system", "system:authenticated"},
	},
}

const (
	// noAccounts disables the plugins that make workloads wait for objects of a cluster with nodes. This API server only stores templates.
	noAccounts = "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount"
	// hubControllers do not create pods from templates.
	hubControllers = "namespace-controller,garbage-collector-controller,ttl-after-finished-controller"
	// memberControllers are Karmada's controllers for push mode, and those for failover. Its detector and its distributor of dependencies always run.
	memberControllers = "cluster,clusterStatus,binding,bindingStatus,execution,workStatus,namespace,applicationFailover,gracefulEviction"
)

// retries are the flags for retries. By default, a failed item waits up to 1,000 s, and all failed items of a controller together are retried
// ten times a second. If a member is away, this would delay unrelated items.
var retries = []string{"--rate-limiter-max-delay=2s", "--rate-limiter-qps=1000", "--rate-limiter-bucket-size=1000"}

func (k *Karmada) scheduler() component {
	return component{
		name:  KarmadaScheduler,
		ports: 1,
		command: func(ports []string) []string {
			return k.karmadaRole(KarmadaScheduler, slices.Concat([]string{
				"--health-probe-bind-address=" + local(ports[0]),
				"--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000",
			}, retries, k.options.SchedulerArgs)...)
		},
		ready: k.serves("http", 0, "/healthz"),
	}
}

func (k *Karmada) karmadaControllers() component {
	return component{
		name:  KarmadaControllerManager,
		ports: 1,
		command: func(ports []string) []string {
			return k.karmadaRole(KarmadaControllerManager, slices.Concat([]string{
				"--health-probe-bind-address=" + local(ports[0]),
				"--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000",
				"--cluster-api-qps=2000", "--cluster-api-burst=4000", "--controllers=" + memberControllers,
				// The members have a namespace volcano-system of their own.
				"--skipped-propagating-namespaces=kube-.*,volcano-system",
				// Each scenario has a namespace and policies. By default, Karmada handles only one of each at a time.
				"--concurrent-namespace-syncs=8", "--concurrent-propagation-policy-syncs=8", "--concurrent-resourcebinding-syncs=8", "--concurrent-work-syncs=8",
				// Karmada notices a member that comes or goes within seconds. A member that is slow on a busy machine is not gone.
				"--cluster-status-update-frequency=1s", "--cluster-success-threshold=1s",
				"--cluster-failure-threshold=10s", "--cluster-monitor-period=1s",
			}, retries)...)
		},
		ready: k.serves("http", 0, "/healthz"),
	}
}

func (k *Karmada) karmadaWebhook() component {
	return component{
		name:  KarmadaWebhook,
		ports: 2,
		command: func(ports []string) []string {
			return k.karmadaRole(KarmadaWebhook,
				"--health-probe-bind-address="+local(ports[1]), "--bind-address=127.0.0.1", "--secure-port="+ports[0],
				"--cert-dir="+k.pki.dir, "--tls-cert-file-name="+KarmadaWebhook+".crt", "--tls-private-key-file-name="+KarmadaWebhook+".key")
		},
		ready: k.serves("https", 0, "/readyz/"),
	}
}

// karmadaRole returns the command line of a component of the karmada program.
func (k *Karmada) karmadaRole(name string, args ...string) []string {
	return append([]string{
		filepath.Join(k.bin, karmadaProgram), name, "--kubeconfig=" + k.kubeconfig(name), "--metrics-bind-address=0",
		// Volcano Jobs have components, which quotas and schedulers can read.
		"--feature-gates=MultiplePodTemplatesScheduling=true",
	}, args...)
}
