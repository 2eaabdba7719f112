// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"net/http"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins/capacity"
)

// New returns a dispatcher for a Karmada control plane. Period is the shortest time between two cycles. User is the user name of the
// dispatcher at the API server. Metrics are registered with the registerer. The configuration must come from framework.ParseConfig.
func New(client *rest.Config, config *framework.Config, period time.Duration, user string, registerer prometheus.Registerer) (*Dispatcher, error) {
	clients, err := cache.NewClients(client)
	if err != nil {
		return nil, err
	}
	c, err := cache.New(clients, config)
	if err != nil {
		return nil, err
	}
	arguments, _ := config.Plugin(capacity.Name)
	c.CardQuotaRequired, _ = arguments.Bool(capacity.CardQuotaRequired, false) // ParseConfig has checked the value
	metrics, err := report.NewMetrics(registerer)
	if err != nil {
		return nil, err
	}
	return &Dispatcher{cache: c, clients: clients, config: config, period: period, user: user, metrics: metrics}, nil
}

// Run keeps the cache of the dispatcher up to date until ctx ends. Every replica runs it.
func (d *Dispatcher) Run(ctx context.Context) error { return d.cache.Run(ctx) }

// Ready returns nil if everything can be read. Otherwise, the error says what cannot.
func (d *Dispatcher) Ready() error { return d.cache.Ready() }

// hold sends a patch for the admission webhook.
func (d *Dispatcher) hold(ctx context.Context, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	err := d.cache.Patch(ctx, rb, patch)
	d.metrics.Patched(report.PatchHoldGrowth, err)
	return err
}

// Webhooks returns the admission webhooks by path.
func (d *Dispatcher) Webhooks() map[string]http.Handler {
	bindings := &admission.Bindings{
		User: d.user, ManageWorkloadsWithoutQueue: d.config.ManageWorkloadsWithoutQueue,
		Template: d.cache.Template, Exceeds: d.cache.OfBindings.Exceeds, Spares: d.cache.OfBindings.Spares, Told: d.cache.Told, Now: time.Now,
	}
	workloads := &admission.Workloads{
		SchedulerNames: d.config.SchedulerNames, Object: d.cache.Object, Binding: d.cache.Binding, Exceeds: d.cache.OfWorkloads.Exceeds, Spares: d.cache.OfWorkloads.Spares,
		ClaimsLag: d.cache.OfWorkloads.ClaimsLag, Patch: d.hold, Now: time.Now,
	}
	claims := &admission.Claims{GrowsWith: d.cache.GrowsWith, ClusterWithOther: d.cache.ClusterWithOther}
	return map[string]http.Handler{
		admission.BindingsPath:  admission.Bounded(&ctrladmission.Webhook{Handler: bindings}),
		admission.WorkloadsPath: admission.Bounded(&ctrladmission.Webhook{Handler: workloads}),
		admission.ClaimsPath:    admission.Bounded(&ctrladmission.Webhook{Handler: claims}),
	}
}
