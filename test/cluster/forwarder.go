// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net"
	"sync"
)

// forwarder passes TCP connections to the first of its targets that accepts them, as a Service does. It can be closed, which cuts all
// connections, and opened again on the same address.
type forwarder struct {
	targets  func() []string
	address  string
	reserved reservation

	mu          sync.Mutex
	listener    net.Listener
	connections map[net.Conn]bool
}

// openForwarder returns a forwarder with a new address.
func openForwarder(targets func() []string) (*forwarder, error) {
	reserved, numbers, err := reservePorts(1)
	if err != nil {
		return nil, err
	}
	f := &forwarder{targets: targets, address: local(numbers[0]), reserved: reserved}
	if err := f.open(); err != nil {
		reserved.release()
		return nil, err
	}
	return f, nil
}

// open does nothing if the forwarder is open.
func (f *forwarder) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		return err
	}
	f.listener, f.connections = listener, map[net.Conn]bool{}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go f.forward(client)
		}
	}()
	return nil
}

// close refuses new connections and cuts existing ones. It may be called more than once.
func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		return
	}
	_ = f.listener.Close()
	f.listener = nil
	for connection := range f.connections {
		_ = connection.Close()
	}
}

// end closes the forwarder permanently.
func (f *forwarder) end() {
	f.close()
	f.reserved.release()
}

func (f *forwarder) forward(client net.Conn) {
	defer client.Close()
	server := f.dial()
	if server == nil || !f.track(client) {
		return
	}
	defer f.forget(client)
	defer server.Close()
	ended := make(chan struct{}, 2)
	transfer := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go transfer(server, client)
	go transfer(client, server)
	<-ended
}

func (f *forwarder) dial() net.Conn {
	for _, target := range f.targets() {
		if server, err := net.Dial("tcp", target); err == nil {
			return server
		}
	}
	return nil
}

// track reports whether the forwarder is open.
func (f *forwarder) track(connection net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		return false
	}
	f.connections[connection] = true
	return true
}

func (f *forwarder) forget(connection net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.connections, connection)
}
