// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	"github.com/devicequota/devicequota/pkg/program"
)

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
