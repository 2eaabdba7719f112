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

// The ports of components are below Linux's ports for outgoing connections (ip_local_port_range). Otherwise, an outgoing connection could take
// the port of a component that is restarted.
const (
	firstPort = 20000
	ports     = 12000
	// portTries limits the tries for each needed port.
	portTries = 100
)

// reservation has ports that no other control plane on this machine takes, even while a component restarts and does not listen. It holds the
// UDP ports with the same numbers, which are unused otherwise. They become free when the process ends.
type reservation []net.PacketConn

// reservePorts returns n free ports, and keeps them until release.
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

// ReserveAddress returns an address on this machine for a program. No control plane takes it before release is called.
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

// awaitPorts waits until no process listens on ports. The kernel closes the files of a killed process one after the other, and reports its end
// before the last one.
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
