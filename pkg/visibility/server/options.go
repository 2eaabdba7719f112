// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/pflag"
)

// Options are the options of the server.
type Options struct {
	// BindAddress is the address to listen on. If it is empty, there is no server.
	BindAddress string
	// CertFile and KeyFile are the server's certificate and key. The server reloads them when they change. If both are empty, the
	// server creates a certificate that lasts as long as the process.
	CertFile, KeyFile string
	// Namespace is the namespace of the Service and of the scheduler's lease. It is not a flag.
	Namespace string
}

// NewOptions returns the defaults.
func NewOptions() Options { return Options{BindAddress: ":8444"} }

// AddFlags adds the flags of the server.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.BindAddress, "visibility-bind-address", o.BindAddress,
		"The address on which the scheduler tells, over HTTPS, what its ledger says; nothing is served if it is empty")
	flags.StringVar(&o.CertFile, "visibility-cert-file", o.CertFile,
		"File with the certificate for --visibility-bind-address, with the chain if there is one; by default, the scheduler makes a self-signed certificate")
	flags.StringVar(&o.KeyFile, "visibility-key-file", o.KeyFile, "File with the private key of --visibility-cert-file")
}

// Enabled reports whether there is a server.
func (o *Options) Enabled() bool { return o.BindAddress != "" }

// Validate returns an error if the flags are invalid.
func (o *Options) Validate() error {
	if !o.Enabled() {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.BindAddress); err != nil {
		return fmt.Errorf("--visibility-bind-address: %w: use HOST:PORT or :PORT", err)
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("--visibility-cert-file and --visibility-key-file: set both or none")
	}
	return nil
}
