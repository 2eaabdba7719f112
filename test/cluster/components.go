// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

// gates are the feature gates of Dynamic Resource Allocation that the cluster serves.
var gates = strings.Join([]string{
	"DynamicResourceAllocation=true",
	"DRAAdminAccess=true",
	"DRAConsumableCapacity=true",
	"DRADeviceBindingConditions=true",
	"DRAExtendedResource=true",
	"DRAPartitionableDevices=true",
	"DRAPrioritizedList=true",
	"DRAResourceClaimDeviceStatus=true",
}, ",")

// controllers are the controllers for jobs, deployments, quotas, garbage collection and claims.
var controllers = strings.Join([]string{
	"clusterrole-aggregation-controller", "deployment-controller", "disruption-controller",
	"garbage-collector-controller", "job-controller", "namespace-controller",
	"pod-garbage-collector-controller", "replicaset-controller", "resourceclaim-controller",
	"resourcequota-controller", "root-ca-certificate-publisher-controller",
	"serviceaccount-controller", "statefulset-controller", "ttl-after-finished-controller",
}, ",")

// identities are the users of the components and of the administrator.
var identities = map[string]identity{
	admin:              {user: "devcluster-admin", groups: []string{"system:masters"}},
	Etcd:               {user: "etcd"},
	APIServer:          {user: "kube-apiserver"},
	ControllerManager:  {user: "system:kube-controller-manager"},
	VolcanoControllers: {user: "vc-controller-manager"},
	Kwok:               {user: "kwok"},
	kubeScheduler:      {user: "system:kube-scheduler"},
	VolcanoScheduler: {
		user:   "system:serviceaccount:volcano-system:volcano-scheduler",
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:volcano-system", "system:authenticated"},
	},
	Webhook: {
		user:   "system:serviceaccount:volcano-system:vc-webhook",
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:volcano-system", "system:authenticated"},
	},
}

const (
	admin = "admin"
	// frontProxyClient is the name with which the API server forwards requests to the scheduler.
	frontProxyClient = "front-proxy-client"
)

// component describes how to run one part of the control plane.
type component struct {
	name string
	// ports is the number of ports that the component needs.
	ports int
	// command returns the command line.
	command func(ports []string) []string
	// ready returns nil once the component is ready.
	ready func(ctx context.Context, ports []string) error
}

func (c *controlPlane) etcd() component {
	return component{
		name:  Etcd,
		ports: 2,
		command: func(ports []string) []string {
			return c.role(Etcd, "-data-dir", filepath.Join(c.state, "etcd"), "-listen", local(ports[0]), "-listen-peer", local(ports[1]),
				"-cert-file", c.pki.certFile(Etcd), "-key-file", c.pki.keyFile(Etcd), "-trusted-ca-file", c.pki.caFile())
		},
		ready: c.serves("https", 0, "/health"),
	}
}

// noNodeTaints disables the plugin that taints new nodes, because no controller of a cluster removes the taint.
const noNodeTaints = "--disable-admission-plugins=TaintNodesByCondition"

// apiServer has further flags, which override the defaults.
func (c *controlPlane) apiServer(further ...string) component {
	return component{
		name:  APIServer,
		ports: 1,
		command: func(ports []string) []string {
			args := []string{
				"--etcd-servers=https://" + local(c.ports[Etcd][0]), "--etcd-cafile=" + c.pki.caFile(),
				"--etcd-certfile=" + c.pki.certFile(APIServer), "--etcd-keyfile=" + c.pki.keyFile(APIServer),
				"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + ports[0],
				"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
				"--tls-cert-file=" + c.pki.certFile(APIServer), "--tls-private-key-file=" + c.pki.keyFile(APIServer),
				"--client-ca-file=" + c.pki.caFile(), "--authorization-mode=RBAC",
				"--requestheader-client-ca-file=" + c.frontProxy.caFile(), "--requestheader-allowed-names=" + frontProxyClient,
				"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
				"--requestheader-extra-headers-prefix=X-Remote-Extra-",
				"--proxy-client-cert-file=" + c.frontProxy.certFile(frontProxyClient), "--proxy-client-key-file=" + c.frontProxy.keyFile(frontProxyClient),
				"--service-account-issuer=https://kubernetes.default.svc",
				"--service-account-key-file=" + c.serviceAccountKey, "--service-account-signing-key-file=" + c.serviceAccountKey,
				"--feature-gates=" + gates,
				"--runtime-config=resource.k8s.io/v1=true,resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
			}
			return c.role(APIServer, append(args, further...)...)
		},
		ready: c.serves("https", 0, "/readyz"),
	}
}

func (c *controlPlane) controllerManager(controllers string, ready func(ctx context.Context, ports []string) error) component {
	return component{
		name:  ControllerManager,
		ports: 1,
		command: func(ports []string) []string {
			return c.role(ControllerManager,
				"--kubeconfig="+c.kubeconfig(ControllerManager), "--authentication-kubeconfig="+c.kubeconfig(ControllerManager),
				"--authorization-kubeconfig="+c.kubeconfig(ControllerManager),
				"--bind-address=127.0.0.1", "--secure-port="+ports[0],
				"--tls-cert-file="+c.pki.certFile(ControllerManager), "--tls-private-key-file="+c.pki.keyFile(ControllerManager),
				"--leader-elect=false", "--use-service-account-credentials=true", "--kube-api-qps=2000", "--kube-api-burst=4000",
				"--root-ca-file="+c.pki.caFile(), "--service-account-private-key-file="+c.serviceAccountKey,
				"--controllers="+controllers, "--feature-gates="+gates)
		},
		ready: ready,
	}
}

// hasServiceAccounts returns nil once the controllers work.
func (c *Cluster) hasServiceAccounts(ctx context.Context, _ []string) error {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	return err
}

func (c *Cluster) volcanoControllers() component {
	return component{
		name:  VolcanoControllers,
		ports: 1,
		command: func(ports []string) []string {
			return c.role(VolcanoControllers, "--kubeconfig="+c.kubeconfig(VolcanoControllers), "--leader-elect=false",
				"--kube-api-qps=2000", "--kube-api-burst=4000", "--worker-threads=8", "--worker-threads-for-podgroup=8",
				"--enable-healthz=true", "--healthz-address="+local(ports[0]))
		},
		// The scheduler creates the queue, and the controllers open it.
		ready: func(ctx context.Context, _ []string) error {
			queue, err := c.dynamic.Resource(queueResource).Get(ctx, "default", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if state, _, _ := unstructured.NestedString(queue.Object, "status", "state"); state != "Open" {
				return fmt.Errorf("queue default is in state %q, not Open", state)
			}
			return nil
		},
	}
}

func (c *Cluster) volcanoScheduler() component {
	return component{
		name:  VolcanoScheduler,
		ports: 3,
		command: func(ports []string) []string {
			args := append([]string{
				"--kubeconfig=" + c.kubeconfig(VolcanoScheduler), "--leader-elect=false", "--scheduler-conf=" + c.schedulerConfig,
				"--feature-gates=" + gates, "--kube-api-qps=2000", "--kube-api-burst=4000", "--schedule-period=200ms",
				"--enable-metrics=true", "--listen-address=" + local(ports[0]),
				"--enable-healthz=true", "--healthz-address=" + local(ports[1]),
				"--cache-dumper=false", "--disable-default-scheduler-config=true", "--v=3",
			}, c.options.SchedulerArgs...)
			switch c.options.Scheduler {
			case Volcano:
				return c.role(VolcanoScheduler, args...)
			case Kube:
				return c.kubeScheduler(ports)
			}
			ours := append([]string{filepath.Join(c.bin, VolcanoScheduler), "--visibility-bind-address=" + local(ports[2])}, args...)
			return c.role("guard", ours...)
		},
		// The scheduler serves metrics before it schedules. They include the latency of plugins after the first session.
		ready: func(ctx context.Context, ports []string) error {
			if c.options.Scheduler == Kube {
				return c.getContaining(ctx, c.SchedulerMetricsURL(), "")
			}
			return c.getContaining(ctx, c.SchedulerMetricsURL(), "volcano_plugin_scheduling_latency")
		},
	}
}

// kubeScheduler returns the command line of Kubernetes' scheduler, with as many requests as the others may send. Its metrics and its health have one port.
func (c *Cluster) kubeScheduler(ports []string) []string {
	kubeconfig := c.kubeconfig(kubeScheduler)
	return c.role(kubeScheduler, append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + ports[0],
		"--tls-cert-file=" + c.pki.certFile(kubeScheduler), "--tls-private-key-file=" + c.pki.keyFile(kubeScheduler),
		"--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000", "--feature-gates=" + gates,
	}, c.options.SchedulerArgs...)...)
}

func (c *Cluster) kwok() component {
	return component{
		name:  Kwok,
		ports: 1,
		command: func(ports []string) []string {
			return c.role("guard", filepath.Join(c.bin, Kwok), "--kubeconfig="+c.kubeconfig(Kwok), "--config="+filepath.Join(c.state, stagesFile),
				"--manage-all-nodes=true", "--node-lease-duration-seconds=40", "--node-port=0", "--cidr=10.0.0.1/8",
				"--server-address="+local(ports[0]))
		},
		ready: c.serves("http", 0, "/healthz"),
	}
}

// role returns the command line of a component of the controlplane program.
func (c *controlPlane) role(name string, args ...string) []string {
	return append([]string{filepath.Join(c.bin, controlplaneProgram), name}, args...)
}

func local(port string) string {
	return net.JoinHostPort("127.0.0.1", port)
}
