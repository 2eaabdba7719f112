// SPDX-License-Identifier: Apache-2.0

// Command vc-webhook refuses quotas and annotations about cards that the scheduler could not read. Each replica answers.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/devicequota/devicequota/pkg/program"
	"github.com/devicequota/devicequota/pkg/webhook"
	"github.com/devicequota/devicequota/pkg/webhook/certificates"
)

func main() {
	o := defaultOptions()
	program.Main(program.New("vc-webhook", "Refuse quotas and annotations about cards that the scheduler could not read", o.addFlags,
		func(ctx context.Context) error { return run(ctx, o) }))
}

// options are the flags of the program.
type options struct {
	kubeconfig                                string
	namespace, service, secret, configuration string
	addresses                                 program.Addresses
}

func defaultOptions() *options {
	return &options{
		namespace: "volcano-system", service: "vc-webhook", secret: "vc-webhook-certificates", configuration: "vc-webhook",
		addresses: program.DefaultAddresses(),
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig of the API server; if it is empty, the pod's service account is used")
	flags.StringVar(&o.namespace, "namespace", o.namespace, "namespace of the Service and of the Secret")
	flags.StringVar(&o.service, "service-name", o.service, "Service by which the API server reaches the webhook")
	flags.StringVar(&o.secret, "secret-name", o.secret, "Secret in which the replicas share their certificates; it must exist")
	flags.StringVar(&o.configuration, "webhook-configuration-name", o.configuration, "ValidatingWebhookConfiguration that gets the caBundle")
	o.addresses.AddFlags(flags)
}

func run(ctx context.Context, o *options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig of the API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	keeper := &certificates.Keeper{
		Client: client, Namespace: o.namespace, Secret: o.secret, Configuration: o.configuration,
		Names: []string{o.service + "." + o.namespace + ".svc"}, Now: time.Now,
	}
	server := o.addresses.WebhookServer(keeper.GetCertificate)
	m, err := manager.New(config, manager.Options{
		Metrics:                metricsserver.Options{BindAddress: o.addresses.Metrics},
		HealthProbeBindAddress: o.addresses.HealthProbe, WebhookServer: server,
	})
	if err != nil {
		return err
	}
	m.GetWebhookServer().Register(webhook.Path, webhook.Handler()) // the manager starts only a server that was requested
	if err := program.AddProbes(m, server, keeper.Ready); err != nil {
		return err
	}
	if err := m.Add(manager.RunnableFunc(keeper.Run)); err != nil {
		return err
	}
	return m.Start(ctx)
}
