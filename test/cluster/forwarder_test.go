// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"fmt"
	"net"
	"testing"
)

// greeter sends its name on each connection, and leaves the connection open.
func greeter(t *testing.T, name string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(connection, name)
		}
	}()
	return listener.Addr().String()
}

// greeting returns an open connection and the name from the other end.
func greeting(t *testing.T, address string) (net.Conn, string) {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return nil, ""
	}
	t.Cleanup(func() { _ = connection.Close() })
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return connection, line
}

func TestForwarder(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	var targets []string
	f, err := openForwarder(func() []string { return targets })
	if err != nil {
		t.Fatal(err)
	}
	defer f.end()
	expect := func(what, want string) net.Conn {
		t.Helper()
		connection, got := greeting(t, f.address)
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
		return connection
	}

	expect("without a target", "")
	targets = []string{gone.Addr().String(), greeter(t, "first"), greeter(t, "second")}
	open := expect("with a target that refuses and two that accept", "first\n")
	f.close()
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the forwarder")
	}
	expect("when it is closed", "")
	f.close()
	for range 2 {
		if err := f.open(); err != nil {
			t.Fatal(err)
		}
	}
	expect("when it is open again", "first\n")
}
