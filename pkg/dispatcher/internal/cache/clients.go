// SPDX-License-Identifier: Apache-2.0

package cache

import (
	karmada "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	devicequota "github.com/devicequota/devicequota/pkg/client/clientset/versioned"
)

// Clients are the clients for Karmada's API server.
type Clients struct {
	Kubernetes kubernetes.Interface
	Karmada    karmada.Interface
	Volcano    volcano.Interface
	Queues     devicequota.Interface
	Metadata   metadata.Interface
}

// NewClients returns clients that share connections. Each has its own rate limit.
func NewClients(config *rest.Config) (*Clients, error) {
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Clients{}
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
	if c.Metadata, err = metadata.NewForConfigAndClient(config, shared); err != nil {
		return nil, err
	}
	return c, nil
}
