// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/devicequota/devicequota/pkg/dispatcher"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins"
	"github.com/devicequota/devicequota/pkg/lease"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/program"
)

// The leader renews the lease several times before the age at which it stops to decide.
const (
	renewDeadline = 2 * dispatcher.MaxDecisionAge
	retryPeriod   = 2 * time.Second
)

func run(ctx context.Context, o *options) error {
	if err := o.check(); err != nil {
		return err
	}
	config, err := readConfig(o.config)
	if err != nil {
		return err
	}
	client, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig of Karmada's API server: %w", err)
	}
	client.QPS, client.Burst = o.qps, o.burst
	name, err := whoAmI(ctx, client)
	if err != nil {
		return fmt.Errorf("ask Karmada's API server who this is: %w", err)
	}
	server, watcher, err := webhookServer(o)
	if err != nil {
		return err
	}
	lock, err := newLock(client, o)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	m, err := manager.New(client, managerOptions(o, lock, server))
	if err != nil {
		return err
	}
	d, err := dispatcher.New(client, config, o.period, name, metrics.Registry)
	if err != nil {
		return err
	}
	renewed := lock.RenewedWithin
	if !o.leaderElect {
		renewed = func(time.Duration) bool { return true }
	}
	if err := attach(m, d, renewed, server, watcher); err != nil {
		return err
	}
	return m.Start(ctx)
}

// managerOptions returns the options of the manager. The metric of the leading replica needs the ID of the election as the name of the
// lease, although the lock has this name already.
func managerOptions(o *options, lock resourcelock.Interface, server webhook.Server) manager.Options {
	duration, renew, retry := dispatcher.LeaseDuration, renewDeadline, retryPeriod
	return manager.Options{
		LeaderElection: o.leaderElect, LeaderElectionResourceLockInterface: lock, LeaderElectionID: metric.DispatcherLease,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &duration, RenewDeadline: &renew, RetryPeriod: &retry,
		Metrics:                metricsserver.Options{BindAddress: o.addresses.Metrics},
		HealthProbeBindAddress: o.addresses.HealthProbe, WebhookServer: server,
	}
}

// newLock returns the lock of the Lease for which the replicas compete. A hanging request does not lose the lease.
func newLock(client *rest.Config, o *options) (*lease.Lock, error) {
	config := rest.AddUserAgent(client, "leader-election")
	config.Timeout = renewDeadline / 2
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return lease.New(clientset, o.leaderElectNamespace, metric.DispatcherLease, metric.DispatcherLease)
}

// attach adds the webhooks, the probes, and the dispatcher to a manager.
func attach(m manager.Manager, d *dispatcher.Dispatcher, renewed func(time.Duration) bool, server webhook.Server, watcher *certwatcher.CertWatcher) error {
	for path, hook := range d.Webhooks() {
		m.GetWebhookServer().Register(path, hook) // the manager starts only a server that was requested
	}
	if err := program.AddProbes(m, server, d.Ready); err != nil {
		return err
	}
	lead := func(ctx context.Context) error { return d.Lead(ctx, renewed) }
	for _, r := range []manager.Runnable{everywhere(watcher.Start), everywhere(d.Run), manager.RunnableFunc(lead)} {
		if err := m.Add(r); err != nil {
			return err
		}
	}
	return nil
}

// everywhere is a function that runs in each replica, whether it leads or not.
type everywhere func(context.Context) error

func (f everywhere) Start(ctx context.Context) error { return f(ctx) }
func (everywhere) NeedLeaderElection() bool          { return false }

func readConfig(file string) (*framework.Config, error) {
	plugins.Register()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("flag --config: %w", err)
	}
	config, err := framework.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", file, err)
	}
	return config, nil
}

// whoAmI returns the user name of this program for the API server. The admission webhook allows this user changes that it denies to
// others.
func whoAmI(ctx context.Context, config *rest.Config) (string, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return ownName(&review.Status.UserInfo)
}

// ownName returns the name of a user that only the dispatcher uses. Karmada's components are administrators by default. If the dispatcher
// had the same name, its webhooks would accept all writes of Karmada and hold nothing.
func ownName(info *authenticationv1.UserInfo) (string, error) {
	if slices.Contains(info.Groups, user.SystemPrivilegedGroup) {
		return "", fmt.Errorf("user %s is in the group %s, like Karmada's own components, whose writes the webhooks must tell from those of the dispatcher: "+
			"use a kubeconfig of the ServiceAccount in config/dispatcher/rbac.yaml", info.Username, user.SystemPrivilegedGroup)
	}
	return info.Username, nil
}

// webhookServer returns the server of the admission webhook, and a watcher that reloads its certificate after changes.
func webhookServer(o *options) (webhook.Server, *certwatcher.CertWatcher, error) {
	watcher, err := certwatcher.New(o.tlsCertFile, o.tlsKeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("flags --tls-cert-file and --tls-private-key-file: %w", err)
	}
	return o.addresses.WebhookServer(watcher.GetCertificate), watcher, nil
}
