// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"testing"
	"time"
)

func TestAReservedPortIsGivenToNobodyElseWhileNothingListensOnIt(t *testing.T) {
	first, numbers, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(numbers)
	if len(slices.Compact(slices.Clone(numbers))) != 3 {
		t.Errorf("ports %v, want three", numbers)
	}
	for _, number := range numbers {
		if held, err := net.ListenPacket("udp", local(number)); err == nil {
			_ = held.Close()
			t.Errorf("port %s is not held", number)
		}
		listener, err := net.Listen("tcp", local(number))
		if err != nil {
			t.Fatalf("the component cannot listen: %v", err)
		}
		_ = listener.Close()
	}
	first.release()
	held, err := net.ListenPacket("udp", local(numbers[0]))
	if err != nil {
		t.Fatalf("a port that was released is held: %v", err)
	}
	_ = held.Close()
}

func TestWhatIsRestartedAwaitsItsPorts(t *testing.T) {
	reserved, numbers, err := reservePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	defer reserved.release()
	listener, err := net.Listen("tcp", local(numbers[1]))
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan error)
	go func() { free <- awaitPorts(t.Context(), numbers) }()
	select {
	case err := <-free:
		t.Errorf("somebody listens, and it is not awaited: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	_ = listener.Close()
	if err := <-free; err != nil {
		t.Error(err)
	}
}
