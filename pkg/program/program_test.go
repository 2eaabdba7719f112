// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/devicequota/devicequota/pkg/version"
)

func TestACommandHasItsFlagsThoseOfKlogAndItsVersion(t *testing.T) {
	addresses, runs := DefaultAddresses(), 0
	run := func(ctx context.Context) error {
		runs++
		return context.Cause(ctx)
	}
	for _, test := range []struct {
		args, out, err string
	}{
		{"--webhook-port=9443 --v=3", "", "the context of the caller has ended"},
		{"--version", version.Get().String() + "\n", ""},
		{"--nothing", "", "unknown flag: --nothing"},
		{"argument", "", `unknown command "argument" for "vc-test"`},
	} {
		c := New("vc-test", "Test", func(flags *pflag.FlagSet) { addresses.AddFlags(flags) }, run)
		var out strings.Builder
		c.SetOut(&out)
		c.SetErr(io.Discard)
		c.SetArgs(strings.Fields(test.args))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the context of the caller has ended"))
		err := c.ExecuteContext(ctx)
		if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err || out.String() != test.out {
			t.Errorf("%s: %v, want %q; it prints %q, want %q", test.args, err, test.err, out.String(), test.out)
		}
	}
	if runs != 1 || addresses.WebhookPort != 9443 || addresses.Metrics != ":8080" {
		t.Errorf("%d runs, %+v", runs, addresses)
	}
}

func TestAServerPublishesWhatItWasBuiltFrom(t *testing.T) {
	if n, err := testutil.GatherAndCount(metrics.Registry, "devicequota_build_info"); err != nil || n != 1 {
		t.Errorf("%d metrics devicequota_build_info, %v", n, err)
	}
}

func TestAServerThatHasNotStartedIsNotReady(t *testing.T) {
	addresses := Addresses{Metrics: "0", HealthProbe: "0"}
	server := addresses.WebhookServer(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("no certificate") })
	m, err := manager.New(&rest.Config{Host: "http://localhost:1"}, manager.Options{
		Metrics: metricsserver.Options{BindAddress: addresses.Metrics}, HealthProbeBindAddress: addresses.HealthProbe, WebhookServer: server,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := AddProbes(m, server, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if server.StartedChecker()(nil) == nil {
		t.Error("a server that has not started is ready")
	}
}
