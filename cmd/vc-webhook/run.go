// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/devicequota/devicequota/pkg/program"
	"github.com/devicequota/devicequota/pkg/webhook"
	"github.com/devicequota/devicequota/pkg/webhook/certificates"
)

// The manager serves this registry.
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
