// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The ports of components are below those that Linux gives to outgoing connections (ip_local_port_range). Otherwise, such a
// connection may take the port of a component while it is restarted.
const (
	firstPort = 20000
	ports     = 12000
	// portTries bounds how many ports are tried for each that is needed.
	portTries = 100
)

// reservation is ports that no other control plane on this machine takes, also while nobody listens on them because a component
// is restarted. It holds the UDP ports of the same numbers, which nothing uses. They become free when the process ends.
type reservation []net.PacketConn

// reservePorts returns n ports that are free, and keeps them until release.
func reservePorts(n int) (reserved reservation, numbers []string, err error) {
	for range n {
		held, number, err := reservePort()
		if err != nil {
			reserved.release()
			return nil, nil, err
		}
		reserved, numbers = append(reserved, held), append(numbers, number)
	}
	return reserved, numbers, nil
}

// ReserveAddress returns an address of this machine for a program to listen on. No control plane takes it before release is called.
func ReserveAddress() (address string, release func(), err error) {
	reserved, numbers, err := reservePorts(1)
	if err != nil {
		return "", nil, err
	}
	return local(numbers[0]), reserved.release, nil
}

func reservePort() (net.PacketConn, string, error) {
	var errs []error
	for range portTries {
		number := strconv.Itoa(firstPort + rand.IntN(ports))
		held, err := net.ListenPacket("udp", local(number))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		listener, err := net.Listen("tcp", local(number))
		if err == nil {
			return held, number, listener.Close()
		}
		errs = append(errs, err, held.Close())
	}
	return nil, "", fmt.Errorf("no port is free: %w", errors.Join(errs...))
}

// awaitPorts waits until nobody listens on ports. The kernel closes what a killed process had one after the other, and tells of its end before
// the last.
func awaitPorts(ctx context.Context, ports []string) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) {
		for _, port := range ports {
			listener, err := net.Listen("tcp", local(port))
			if err != nil {
				return false, nil
			}
			_ = listener.Close()
		}
		return true, nil
	})
}

func (r reservation) release() {
	for _, held := range r {
		_ = held.Close() // the port is given up in any case
	}
}
