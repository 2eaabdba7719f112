// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"
)

// newProbeClient returns an HTTP client with the administrator's certificate.
func (p *pki) newProbeClient() (*http.Client, error) {
	certificate, err := tls.LoadX509KeyPair(p.certFile(admin), p.keyFile(admin))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(p.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots}}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}, nil
}

// serves returns a function that returns nil once a component serves a path on one of its ports.
func (c *controlPlane) serves(scheme string, port int, path string) func(ctx context.Context, ports []string) error {
	return func(ctx context.Context, ports []string) error {
		return c.getContaining(ctx, scheme+"://"+local(ports[port])+path, "")
	}
}

// getContaining returns an error unless a URL responds with status 200 and a body that contains text.
func (c *controlPlane) getContaining(ctx context.Context, url, text string) error {
	body, err := c.get(ctx, url)
	if err == nil && !bytes.Contains(body, []byte(text)) {
		return fmt.Errorf("%s does not contain %s yet", url, text)
	}
	return err
}

// get returns the body of a response with status 200.
func (c *controlPlane) get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.probe.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
