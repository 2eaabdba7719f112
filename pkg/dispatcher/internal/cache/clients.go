// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	karmada "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	devicequota "github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/pkg/queueschema"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// Clients are the clients for Karmada's API server.
type Clients struct {
	Kubernetes kubernetes.Interface
	Karmada    karmada.Interface
	Volcano    volcano.Interface
	Queues     devicequota.Interface
	Metadata   metadata.Interface
	// ServesDRA asks the API server whether it serves spec.dra of queues. If it is nil, the API server does.
	ServesDRA func(context.Context) (bool, error)
	// Informers learns from the clients when watches begin.
	Informers *readiness.Informers
}

// NewClients returns clients that share connections. Each has its own rate limit.
func NewClients(config *rest.Config) (*Clients, error) {
	c := &Clients{Informers: readiness.NewInformers(clock.RealClock{})}
	config = rest.CopyConfig(config)
	config.Wrap(c.Informers.Transport)
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	if c.Kubernetes, err = kubernetes.NewForConfigAndClient(config, shared); err != nil {
		return nil, err
	}
	if c.Karmada, err = karmada.NewForConfigAndClient(config, shared); err != nil {
		return nil, err
	}
	if c.Volcano, err = newVolcano(config, shared); err != nil {
		return nil, err
	}
	if c.Queues, err = devicequota.NewForConfigAndClient(config, shared); err != nil {
		return nil, err
	}
	c.ServesDRA = func(ctx context.Context) (bool, error) {
		return queueschema.ServesDRA(ctx, c.Queues.SchedulingV1beta1().RESTClient())
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, shared); err != nil {
		return nil, err
	}
	return c, nil
}
