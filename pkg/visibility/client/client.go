// SPDX-License-Identifier: Apache-2.0

// Package client asks a scheduler what its ledger says. It speaks to the aggregated API visibility.devicequota.io of an API
// server, or to the scheduler itself, which serves the same paths.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// Client reads what the scheduler tells. Errors are those of the API server and of the scheduler, as
// k8s.io/apimachinery/pkg/api/errors knows them.
type Client struct {
	rest rest.Interface
}

// New returns a client for the API server of a configuration, or for the scheduler if the host of the configuration is that of
// its endpoint.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &v1alpha1.SchemeGroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	made, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("a client of %s: %w", v1alpha1.GroupName, err)
	}
	return &Client{rest: made}, nil
}

// Queues returns all queues.
func (c *Client) Queues(ctx context.Context) (*v1alpha1.QueueList, error) {
	return read[v1alpha1.QueueList](ctx, c.rest.Get().Resource("queues"))
}

// Workloads returns the workloads of a namespace, those of all namespaces if it is empty.
func (c *Client) Workloads(ctx context.Context, namespace string) (*v1alpha1.WorkloadList, error) {
	return read[v1alpha1.WorkloadList](ctx, c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource("workloads"))
}

// HolderQuery selects holders. An empty field selects all.
type HolderQuery struct {
	Namespace string
	// Queue selects the holders that are charged to a queue or to one below it.
	Queue string
	// Dimension selects the holders of a DeviceClass, a card, or a resource, by its name.
	Dimension string
}

// Holders returns who holds what.
func (c *Client) Holders(ctx context.Context, query HolderQuery) (*v1alpha1.HolderList, error) {
	request := c.rest.Get().NamespaceIfScoped(query.Namespace, query.Namespace != "").Resource("holders")
	for name, value := range map[string]string{"queue": query.Queue, "dimension": query.Dimension} {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	return read[v1alpha1.HolderList](ctx, request)
}

// Explain says why something waits. The resource is pods, podgroups, or jobs, which are those of Volcano.
func (c *Client) Explain(ctx context.Context, resource, namespace, name string) (*v1alpha1.Explanation, error) {
	return read[v1alpha1.Explanation](ctx, c.rest.Get().Namespace(namespace).Resource(resource).Name(name).SubResource("explanation"))
}

// History returns how much queues had allocated in the last hour.
func (c *Client) History(ctx context.Context) (*v1alpha1.History, error) {
	return read[v1alpha1.History](ctx, c.rest.Get().Resource("history"))
}

// Configuration returns the scheduler's configuration that is in force.
func (c *Client) Configuration(ctx context.Context) (*v1alpha1.Configuration, error) {
	return read[v1alpha1.Configuration](ctx, c.rest.Get().Resource("configuration"))
}

func read[T any](ctx context.Context, request *rest.Request) (*T, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	text, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var answer T
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", (&url.URL{Path: request.URL().Path}).String(), err)
	}
	return &answer, nil
}
