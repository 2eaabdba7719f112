// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applydiscoveryv1 "k8s.io/client-go/applyconfigurations/discovery/v1"
	"k8s.io/klog/v2"
)

const (
	// ServiceName is the name of the Service that leads to the leader, and of its EndpointSlice.
	ServiceName = "devicequota-visibility"
	// podIP is the environment variable with the address of the pod.
	podIP = "POD_IP"
	// portName is the name of the port of the Service.
	portName = "https"
	// manager owns the EndpointSlice. Kubernetes' controllers ignore such slices.
	manager = "visibility.devicequota.io"
	// retryEndpoint is the pause of the leader between two attempts to write.
	retryEndpoint = 5 * time.Second
)

// leadership is the state that a leader must withdraw.
type leadership struct {
	// address is the address in the EndpointSlice.
	address string
	// stop ends the attempts to write the EndpointSlice. written is closed after the last attempt.
	stop    context.CancelFunc
	written chan struct{}
}

// Lead starts to answer, and points the Service to this process. It returns at once.
func (s *Server) Lead(ctx context.Context) {
	s.leading.Store(true)
	service := klog.KRef(s.options.Namespace, ServiceName)
	address := os.Getenv(podIP)
	if address == "" {
		klog.V(2).InfoS("No Service leads to the visibility server, because the environment variable with the address of the pod is not set", "variable", podIP, "service", service)
		return
	}
	slice, err := s.endpoint(address)
	if err != nil {
		klog.ErrorS(err, "No Service leads to the visibility server", "service", service)
		return
	}
	ctx, stop := context.WithCancel(ctx)
	leads := &leadership{address: address, stop: stop, written: make(chan struct{})}
	s.led.Store(leads)
	go func() {
		defer close(leads.written)
		_ = wait.PollUntilContextCancel(ctx, retryEndpoint, true, func(ctx context.Context) (bool, error) { // the error comes from ctx
			_, err := s.client.DiscoveryV1().EndpointSlices(s.options.Namespace).Apply(ctx, slice, metav1.ApplyOptions{FieldManager: manager, Force: true})
			if err != nil {
				klog.ErrorS(err, "The Service does not lead to this replica yet", "service", service)
			}
			return err == nil, nil
		})
	}()
}

// Withdraw reverts Lead. The Service then has no endpoint until another process leads. If another process leads already, nothing changes.
// Withdraw returns when ctx ends at the latest.
func (s *Server) Withdraw(ctx context.Context) {
	s.leading.Store(false)
	leads := s.led.Swap(nil)
	if leads == nil {
		return
	}
	leads.stop()
	select {
	case <-leads.written:
	case <-ctx.Done():
		return
	}
	err := s.removeEndpoint(ctx, leads.address)
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err) { // it has the address of another process
		klog.ErrorS(err, "The Service leads to this replica until another one leads", "service", klog.KRef(s.options.Namespace, ServiceName))
	}
}

// removeEndpoint empties the EndpointSlice if it has the address.
func (s *Server) removeEndpoint(ctx context.Context, address string) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{{"test", "/endpoints/0/addresses/0", address}, {"replace", "/endpoints", []any{}}})
	if err != nil {
		return err
	}
	_, err = s.client.DiscoveryV1().EndpointSlices(s.options.Namespace).Patch(ctx, ServiceName, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// endpoint returns the EndpointSlice with the address of this process.
func (s *Server) endpoint(address string) (*applydiscoveryv1.EndpointSliceApplyConfiguration, error) {
	ip := net.ParseIP(address)
	if ip == nil {
		return nil, fmt.Errorf("%s=%q is no IP address", podIP, address)
	}
	family := discoveryv1.AddressTypeIPv4
	if ip.To4() == nil {
		family = discoveryv1.AddressTypeIPv6
	}
	_, portText, err := net.SplitHostPort(s.options.BindAddress)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return nil, err
	}
	return applydiscoveryv1.EndpointSlice(ServiceName, s.options.Namespace).
		WithLabels(map[string]string{discoveryv1.LabelServiceName: ServiceName, discoveryv1.LabelManagedBy: manager}).
		WithAddressType(family).
		WithEndpoints(applydiscoveryv1.Endpoint().WithAddresses(address).WithConditions(applydiscoveryv1.EndpointConditions().WithReady(true))).
		WithPorts(applydiscoveryv1.EndpointPort().WithName(portName).WithPort(int32(port))), nil
}

// serviceNames returns the names of the Service in a namespace, for a certificate.
func serviceNames(namespace string) []string {
	names := []string{ServiceName}
	if namespace != "" {
		names = append(names, ServiceName+"."+namespace, ServiceName+"."+namespace+".svc")
	}
	return names
}

// podAddresses returns the addresses of the process, for a certificate.
func podAddresses() []net.IP {
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if ip := net.ParseIP(os.Getenv(podIP)); ip != nil {
		addresses = append(addresses, ip)
	}
	return addresses
}
