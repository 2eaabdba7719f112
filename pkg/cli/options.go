// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// Options are the options of all commands.
type Options struct {
	// Config finds the cluster as kubectl does.
	Config *genericclioptions.ConfigFlags
	genericiooptions.IOStreams
	// Endpoint is the URL of the scheduler's endpoint. If it is empty, the API server forwards requests to the scheduler.
	Endpoint string
}

// NewOptions returns the defaults.
func NewOptions(streams genericiooptions.IOStreams) *Options {
	return &Options{Config: genericclioptions.NewConfigFlags(true), IOStreams: streams}
}

// AddFlags adds the flags of all commands: the flags of kubectl, and the endpoint.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Config.AddFlags(flags)
	flags.StringVar(&o.Endpoint, "endpoint", o.Endpoint,
		"URL of the scheduler's endpoint, for example of a port-forward; by default, the API server forwards requests to the scheduler")
}

// Namespace returns the namespace of a command, and whether a flag sets it.
func (o *Options) Namespace() (namespace string, explicit bool, err error) {
	return o.Config.ToRawKubeConfigLoader().Namespace()
}

// RESTConfig returns the configuration of a client of the API server.
func (o *Options) RESTConfig() (*rest.Config, error) { return o.Config.ToRESTConfig() }

// Client returns a client of the scheduler. It uses the credentials of the user, also for a separate endpoint.
func (o *Options) Client() (*client.Client, error) {
	config, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	if o.Endpoint != "" {
		config.Host = o.Endpoint
	}
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return patient{transport, o.ErrOut, patience} })
	made, err := client.New(config)
	if err != nil {
		return nil, fmt.Errorf("reach the scheduler: %w", err)
	}
	return made, nil
}
