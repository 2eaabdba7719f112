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
	// noAccounts disables the plugins that make workloads wait for objects of a cluster with nodes: templates
	// are only stored here.
	noAccounts = "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount"
	// hubControllers run nothing from templates.
	hubControllers = "namespace-controller,garbage-collector-controller,ttl-after-finished-controller"
	// memberControllers are Karmada's controllers for push mode. Its detector and its distributor of
	// dependencies run in any case.
	memberControllers = "cluster,clusterStatus,binding,bindingStatus,execution,workStatus,namespace"
)

// retries are the flags for what failed. By default, it is tried again after up to 1,000 s, and all that failed in a controller
// together ten times a second: when a member is away, that delays what has nothing to do with it.
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
				// Each scenario brings a namespace and policies, and one of either at a time is the default.
				"--concurrent-namespace-syncs=8", "--concurrent-propagation-policy-syncs=8", "--concurrent-resourcebinding-syncs=8", "--concurrent-work-syncs=8",
				// A member that comes or goes is noticed within seconds. One that a busy machine lets wait is not gone.
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
