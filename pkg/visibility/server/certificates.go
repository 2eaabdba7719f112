// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// servingCertificate returns the certificate of the server: from files, or self-signed.
func (o *Options) servingCertificate(names []string, addresses []net.IP) (dynamiccertificates.CertKeyContentProvider, error) {
	if o.CertFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("visibility", o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--visibility-cert-file and --visibility-key-file: %w", err)
		}
		return files, nil
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", addresses, names)
	if err != nil {
		return nil, fmt.Errorf("a self-signed certificate: %w", err)
	}
	return dynamiccertificates.NewStaticCertKeyContent("self-signed", certificate, key)
}

// serveTLS returns a configuration that follows changes of the certificates until ctx ends. Client certificates are optional. An
// authenticator verifies them.
func serveTLS(ctx context.Context, certificate dynamiccertificates.CertKeyContentProvider, clients dynamiccertificates.CAContentProvider) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, ClientAuth: tls.RequestClientCert}
	// The server changes its configuration when it starts, so the controller needs a copy.
	controller := dynamiccertificates.NewDynamicServingCertificateController(config.Clone(), clients, certificate, nil, nil)
	certificate.AddListener(controller)
	clients.AddListener(controller)
	if follower, follows := certificate.(dynamiccertificates.ControllerRunner); follows {
		go follower.Run(ctx, 1)
	}
	if err := controller.RunOnce(); err != nil {
		return nil, err
	}
	go controller.Run(1, ctx.Done())
	config.GetConfigForClient = controller.GetConfigForClient
	return config, nil
}
