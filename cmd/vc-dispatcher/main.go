// SPDX-License-Identifier: Apache-2.0

// Command vc-dispatcher holds workloads back on a Karmada control plane until their queues have room for them. Each replica serves the
// admission webhook. One of them leads, and grants room.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/devicequota/devicequota/pkg/program"
)

func main() {
	o := defaultOptions()
	program.Main(program.New("vc-dispatcher", "Grant workloads on a Karmada control plane the room that their queues have", o.addFlags,
		func(ctx context.Context) error { return run(ctx, o) }))
}

// options are the flags of the program.
type options struct {
	kubeconfig, config      string
	qps                     float32
	burst                   int
	period                  time.Duration
	leaderElect             bool
	leaderElectNamespace    string
	addresses               program.Addresses
	tlsCertFile, tlsKeyFile string
}

func defaultOptions() *options {
	return &options{
		qps: 500, burst: 1000, period: time.Second, leaderElect: true, leaderElectNamespace: "volcano-system",
		addresses: program.DefaultAddresses(),
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig of Karmada's API server; if it is empty, the pod's service account is used")
	flags.StringVar(&o.config, "config", o.config, "configuration file, which is required")
	flags.Float32Var(&o.qps, "kube-api-qps", o.qps, "requests per second to the API server")
	flags.IntVar(&o.burst, "kube-api-burst", o.burst, "requests to the API server in a burst")
	flags.DurationVar(&o.period, "dispatch-period", o.period, "shortest time between two cycles")
	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "lead only while holding a lease; required if there are several replicas")
	flags.StringVar(&o.leaderElectNamespace, "leader-elect-resource-namespace", o.leaderElectNamespace, "namespace of the lease")
	flags.StringVar(&o.tlsCertFile, "tls-cert-file", o.tlsCertFile, "certificate of the admission webhook, which is read again when it changes")
	flags.StringVar(&o.tlsKeyFile, "tls-private-key-file", o.tlsKeyFile, "private key of the certificate")
	o.addresses.AddFlags(flags)
}

// check returns an error if a flag has an impossible value.
func (o *options) check() error {
	switch {
	case o.config == "":
		return errors.New("flag --config is missing: name the configuration file, such as config/dispatcher/config.yaml")
	case o.tlsCertFile == "" || o.tlsKeyFile == "":
		return errors.New("flag --tls-cert-file or --tls-private-key-file is missing: the API server asks webhooks only over TLS")
	case o.period <= 0:
		return fmt.Errorf("flag --dispatch-period is %v: it must be more than 0", o.period)
	case o.qps <= 0 || o.burst <= 0:
		return fmt.Errorf("flags --kube-api-qps and --kube-api-burst are %v and %d: both must be more than 0", o.qps, o.burst)
	}
	return nil
}
