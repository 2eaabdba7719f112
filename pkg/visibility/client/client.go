// SPDX-License-Identifier: Apache-2.0

// Package client reads the ledger of a scheduler. It sends requests to the aggregated API visibility.devicequota.io of an API
// server, or to the scheduler, which serves the same paths.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// Client reads from the scheduler. Its errors come from the API server and the scheduler. Package k8s.io/apimachinery/pkg/api/errors
// distinguishes them.
type Client struct {
	rest rest.Interface
}

// New returns a client of the API server of a configuration. If the host of the configuration is the scheduler's endpoint, it is a client
// of the scheduler.
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

// Workloads returns the workloads of a namespace. An empty namespace stands for all.
func (c *Client) Workloads(ctx context.Context, namespace string) (*v1alpha1.WorkloadList, error) {
	return read[v1alpha1.WorkloadList](ctx, c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource("workloads"))
}

// HolderQuery selects holders. An empty field selects all.
type HolderQuery struct {
	Namespace string
	// Queue selects the holders that are charged to a queue or to a descendant.
	Queue string
	// Dimension selects the holders of a DeviceClass, card, or resource, by name.
	Dimension string
}

// Holders returns the holders with their amounts.
func (c *Client) Holders(ctx context.Context, query HolderQuery) (*v1alpha1.HolderList, error) {
	request := c.rest.Get().NamespaceIfScoped(query.Namespace, query.Namespace != "").Resource("holders")
	for name, value := range map[string]string{"queue": query.Queue, "dimension": query.Dimension} {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	return read[v1alpha1.HolderList](ctx, request)
}

// Explain returns why an object waits. The resource is pods, podgroups, or jobs. Jobs are Jobs of Volcano.
func (c *Client) Explain(ctx context.Context, resource, namespace, name string) (*v1alpha1.Explanation, error) {
	return read[v1alpha1.Explanation](ctx, c.rest.Get().Namespace(namespace).Resource(resource).Name(name).SubResource("explanation"))
}

// History returns how much queues had allocated in the last hour.
func (c *Client) History(ctx context.Context) (*v1alpha1.History, error) {
	return read[v1alpha1.History](ctx, c.rest.Get().Resource("history"))
}

// Configuration returns the active configuration of the scheduler.
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

// Updates reports publications of the scheduler. The caller must close it.
type Updates struct {
	stream io.ReadCloser
	reader *bufio.Reader
}

// Updates opens a stream of server-sent events. It ends with ctx, or with the scheduler.
func (c *Client) Updates(ctx context.Context) (*Updates, error) {
	// The API server's timeout for short requests does not end watch requests.
	stream, err := c.rest.Get().Resource("updates").Param("watch", "true").SetHeader("Accept", "text/event-stream").Stream(ctx)
	if err != nil {
		return nil, err
	}
	return &Updates{stream: stream, reader: bufio.NewReader(stream)}, nil
}

// Next waits for an update. The error is io.EOF if the scheduler has ended the stream.
func (u *Updates) Next() error {
	for data, inLine := false, false; ; {
		text, more, err := u.reader.ReadLine() // an event can be longer than any buffer
		if err != nil {
			return err
		}
		begin := !inLine
		inLine = more
		switch {
		case begin && bytes.HasPrefix(text, []byte("data:")):
			data = true
		case begin && len(text) == 0 && data: // a blank line ends an event; comments keep the connection alive
			return nil
		}
	}
}

// Close ends the stream.
func (u *Updates) Close() error { return u.stream.Close() }
