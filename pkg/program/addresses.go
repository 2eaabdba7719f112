// SPDX-License-Identifier: Apache-2.0

package program

import (
	"crypto/tls"
	"net/http"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Addresses say where a server listens.
type Addresses struct {
	Webhook     string
	WebhookPort int
	// Metrics and HealthProbe are 0 if they are not served.
	Metrics, HealthProbe string
}

// DefaultAddresses returns the defaults of the flags.
func DefaultAddresses() Addresses {
	return Addresses{WebhookPort: 8443, Metrics: ":8080", HealthProbe: ":8081"}
}

// AddFlags adds the flags of the addresses.
func (a *Addresses) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.Webhook, "webhook-bind-address", a.Webhook, "address that the admission webhook listens on; all if it is empty")
	flags.IntVar(&a.WebhookPort, "webhook-port", a.WebhookPort, "port of the admission webhook")
	flags.StringVar(&a.Metrics, "metrics-bind-address", a.Metrics, "address of /metrics; 0 switches it off")
	flags.StringVar(&a.HealthProbe, "health-probe-bind-address", a.HealthProbe, "address of /healthz and /readyz; 0 switches them off")
}

// WebhookServer returns a server of webhooks that asks for its certificate at each handshake.
func (a *Addresses) WebhookServer(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) webhook.Server {
	return webhook.NewServer(webhook.Options{
		Host: a.Webhook, Port: a.WebhookPort,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.GetCertificate = certificate
			c.MinVersion = tls.VersionTLS12
		}},
	})
}

// AddProbes makes a process healthy as long as it answers, and ready when its webhooks are served and ready returns no error.
func AddProbes(m manager.Manager, server webhook.Server, ready func() error) error {
	if err := m.AddReadyzCheck("webhook", server.StartedChecker()); err != nil {
		return err
	}
	if err := m.AddReadyzCheck("readyz", func(*http.Request) error { return ready() }); err != nil {
		return err
	}
	return m.AddHealthzCheck("healthz", func(*http.Request) error { return nil })
}
