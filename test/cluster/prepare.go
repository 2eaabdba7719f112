// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// prepare creates the files that all components need.
func (c *controlPlane) prepare() error {
	var err error
	if err := c.openState(); err != nil {
		return err
	}
	if c.pki, err = newPKI(filepath.Join(c.state, "pki")); err != nil {
		return err
	}
	for name, who := range c.identities {
		if err := c.pki.issueFiles(name, who); err != nil {
			return err
		}
	}
	if c.frontProxy, err = newPKI(filepath.Join(c.state, "pki", "front-proxy")); err != nil {
		return err
	}
	if err := c.frontProxy.issueFiles(frontProxyClient, identity{user: frontProxyClient}); err != nil {
		return err
	}
	if c.serviceAccountKey, err = c.pki.serviceAccountKey(); err != nil {
		return err
	}
	c.probe, err = c.pki.newProbeClient()
	return err
}

// openState creates and locks the state folder. For a temporary folder, it starts a janitor, which removes the folder if this process is
// killed.
func (c *controlPlane) openState() error {
	var err error
	if c.state == "" {
		c.temporary = true
		if c.state, err = os.MkdirTemp("", "cluster-"); err != nil {
			return err
		}
	}
	if c.state, err = filepath.Abs(c.state); err != nil {
		return err
	}
	for _, dir := range []string{c.state, filepath.Join(c.state, "logs"), filepath.Join(c.state, "kubeconfigs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	c.lock, err = lockFile(filepath.Join(c.state, lockName))
	if errors.Is(err, errInUse) {
		c.temporary = false
		return fmt.Errorf("state folder %s is in use by another cluster: stop that one or choose another folder", c.state)
	}
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	if c.temporary {
		c.janitor, err = startProcess("janitor", os.DevNull, nil, c.role("janitor", filepath.Join(c.state, lockName), c.state)...)
	}
	return err
}

// connect writes the kubeconfigs of all identities, and creates the administrator's clients for an API server on a port.
func (c *controlPlane) connect(port string) error {
	for name := range c.identities {
		if err := c.writeKubeconfig(name, port, c.kubeconfig(name)); err != nil {
			return err
		}
	}
	if c.kubeconfigCopy != "" {
		if err := c.writeKubeconfig(admin, port, c.kubeconfigCopy); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	restConfig, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig(admin))
	if err != nil {
		return err
	}
	restConfig.QPS = -1
	c.config = restConfig
	if c.dynamic, err = dynamic.NewForConfig(restConfig); err != nil {
		return err
	}
	c.applier, err = newApplier(restConfig, c.dynamic)
	return err
}

func (c *controlPlane) kubeconfig(name string) string {
	return filepath.Join(c.state, "kubeconfigs", name)
}

func (c *controlPlane) writeKubeconfig(name, port, file string) error {
	certPEM, err := os.ReadFile(c.pki.certFile(name))
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(c.pki.keyFile(name))
	if err != nil {
		return err
	}
	const entry = "devcluster"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{entry: {Server: "https://" + local(port), CertificateAuthorityData: c.pki.caPEM()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: certPEM, ClientKeyData: keyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{entry: {Cluster: entry, AuthInfo: name}},
		CurrentContext: entry,
	}, file)
}
