// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

// connection says how to reach the API server of a member. Connections compare with ==.
type connection struct {
	endpoint, token, ca string
	insecure            bool
	proxy, proxyHeaders string
}

// The rate limits of a member's client, which only reads.
const memberQPS, memberBurst = 20, 40

// errPull means that an agent in the member pulls, and the control plane cannot reach the member.
var errPull = errors.New("its syncMode is Pull, so that nothing connects to it")

// hasSecret returns an error if a member cannot be reached, regardless of its Secret.
func hasSecret(spec *clusterv1alpha1.ClusterSpec) error {
	switch {
	case spec.SyncMode == clusterv1alpha1.Pull:
		return errPull
	case spec.APIEndpoint == "":
		return errors.New("its spec.apiEndpoint is empty: set it")
	case spec.SecretRef == nil || spec.SecretRef.Name == "" || spec.SecretRef.Namespace == "":
		return errors.New("its spec.secretRef names no Secret: set it")
	}
	return nil
}

// connectionTo returns how to reach a member.
func connectionTo(spec *clusterv1alpha1.ClusterSpec, secret *corev1.Secret) (connection, error) {
	c := connection{
		endpoint: spec.APIEndpoint, token: string(secret.Data[clusterv1alpha1.SecretTokenKey]), insecure: spec.InsecureSkipTLSVerification,
		proxy: spec.ProxyURL, proxyHeaders: joined(spec.ProxyHeader),
	}
	name := secret.Namespace + "/" + secret.Name
	if c.token == "" {
		return connection{}, fmt.Errorf("the Secret %s has no %s: add it", name, clusterv1alpha1.SecretTokenKey)
	}
	if c.insecure {
		return c, nil
	}
	if c.ca = string(secret.Data[clusterv1alpha1.SecretCADataKey]); c.ca == "" {
		return connection{}, fmt.Errorf("the Secret %s has no %s: add it, or set spec.insecureSkipTLSVerification of the cluster", name, clusterv1alpha1.SecretCADataKey)
	}
	return c, nil
}

// joined returns the entries of a map as sorted lines.
func joined(headers map[string]string) string {
	lines := make([]string, 0, len(headers))
	for name, values := range headers {
		lines = append(lines, name+":"+values)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// config returns the configuration of a client. It has no timeout: each request has one.
func (c connection) config() (*rest.Config, error) {
	config := &rest.Config{
		Host: c.endpoint, BearerToken: c.token, QPS: memberQPS, Burst: memberBurst,
		TLSClientConfig: rest.TLSClientConfig{Insecure: c.insecure, CAData: []byte(c.ca)},
	}
	if c.proxy == "" {
		return config, nil
	}
	proxy, err := url.Parse(c.proxy)
	if err != nil {
		return nil, fmt.Errorf("its spec.proxyURL is not a URL: %w", err)
	}
	config.Proxy = http.ProxyURL(proxy)
	if headers := c.connectHeaders(); len(headers) > 0 {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			transport, ok := next.(*http.Transport)
			if !ok {
				return next
			}
			transport = transport.Clone()
			transport.ProxyConnectHeader = headers
			return transport
		})
	}
	return config, nil
}

// connectHeaders returns the headers for the proxy. Commas separate the values of a header, as in Karmada.
func (c connection) connectHeaders() http.Header {
	headers := http.Header{}
	for line := range strings.Lines(c.proxyHeaders) {
		name, values, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		for value := range strings.SplitSeq(values, ",") {
			headers.Add(name, value)
		}
	}
	return headers
}
