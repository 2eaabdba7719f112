// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// serviceNetwork connects the API server to Services, as kube-proxy and the pod network do in a real cluster. The API server asks it
// for each connection to a Service or a webhook.
type serviceNetwork struct {
	*environment
	folder string
	kube   kubernetes.Interface
}

func (e *environment) newServiceNetwork() *serviceNetwork {
	e.t.Helper()
	folder, err := os.MkdirTemp("", "services") // short, because the names of sockets must be short
	e.Expect(err).NotTo(HaveOccurred())
	e.t.Cleanup(func() { e.Expect(os.RemoveAll(folder)).To(Succeed()) })
	n := &serviceNetwork{environment: e, folder: folder}
	e.write(n.configuration(), fmt.Sprintf(`{"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration", "egressSelections": [
		{"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": %q}}}}]}`, n.socket()), 0o600)
	return n
}

func (n *serviceNetwork) configuration() string { return filepath.Join(n.folder, "egress.json") }
func (n *serviceNetwork) socket() string        { return filepath.Join(n.folder, "socket") }

// flags returns the flags that make the API server use the network.
func (n *serviceNetwork) flags() []string {
	return []string{"--egress-selector-config-file=" + n.configuration()}
}

// serve serves the API server until the test ends.
func (n *serviceNetwork) serve(kube kubernetes.Interface) {
	n.t.Helper()
	n.kube = kube
	listener, err := net.Listen("unix", n.socket())
	n.Expect(err).NotTo(HaveOccurred())
	server := &http.Server{Handler: http.HandlerFunc(n.connect)}
	go func() { _ = server.Serve(listener) }() // it ends when the server is closed
	n.t.Cleanup(func() { _ = server.Close() })
}

// connect answers a request for a connection.
func (n *serviceNetwork) connect(w http.ResponseWriter, r *http.Request) {
	address, err := n.resolve(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server) // until one side ends
}

// resolve returns the address of the process behind a ready endpoint of a Service. It returns other addresses unchanged.
func (n *serviceNetwork) resolve(ctx context.Context, address string) (string, error) {
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	services, err := n.kube.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.clusterIP=" + ip})
	if err != nil {
		return "", err
	}
	if len(services.Items) == 0 {
		return address, nil
	}
	service := services.Items[0]
	slices, err := n.kube.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
	if err != nil {
		return "", err
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if *endpoint.Conditions.Ready && n.isPod(ctx, service.Namespace, endpoint.Addresses[0]) {
				return fmt.Sprintf("127.0.0.1:%d", *slice.Ports[0].Port), nil // the processes of all pods run on this machine
			}
		}
	}
	return "", fmt.Errorf("Service %s/%s has no ready endpoint", service.Namespace, service.Name)
}

// isPod reports whether a running pod has an address.
func (n *serviceNetwork) isPod(ctx context.Context, namespace, address string) bool {
	pods, err := n.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.podIP=" + address})
	if err != nil {
		return false
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			return true
		}
	}
	return false
}
