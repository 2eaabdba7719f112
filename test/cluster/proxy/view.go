// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"io"
	"sync"
	"time"
)

// everything is the name of the gate for all requests, answers, and events. The other gates are for the events of a resource.
const everything = ""

// gate lets nothing pass while it has holders.
type gate struct {
	holders int
	// open is closed when the last holder has left.
	open chan struct{}
}

// Hold holds back the events of a resource until release is called. The client neither sees an error nor lists again.
func (p *Proxy) Hold(resource string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gates[resource]
	if g == nil {
		g = &gate{open: make(chan struct{})}
		p.gates[resource] = g
	}
	g.holders++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if g.holders--; g.holders == 0 {
			delete(p.gates, resource)
			close(g.open)
		}
	})
}

// Cut holds back all requests, answers, and events until restore is called, as a network that loses all packets does.
func (p *Proxy) Cut() (restore func()) {
	return p.Hold(everything)
}

// pass waits until a gate is open. It returns an error if ctx ends first.
func (p *Proxy) pass(ctx context.Context, name string) error {
	for {
		p.mu.Lock()
		g := p.gates[name]
		p.mu.Unlock()
		if g == nil {
			return ctx.Err()
		}
		select {
		case <-g.open:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lateBody is the body of a watch. A read returns everything that has arrived, so delays do not add up.
type lateBody struct {
	io.ReadCloser
	proxy    *Proxy
	ctx      context.Context
	resource string
}

// Read implements io.Reader.
func (b *lateBody) Read(events []byte) (int, error) {
	n, err := b.ReadCloser.Read(events)
	if n == 0 {
		return n, err
	}
	lag, dropped := b.proxy.fate(b.resource)
	if err := wait(b.ctx, lag); err != nil {
		return 0, err
	}
	for _, name := range []string{b.resource, everything} {
		if err := b.proxy.pass(b.ctx, name); err != nil {
			return 0, err
		}
	}
	if dropped {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// fate returns how late the next events of a resource are, and whether the watch ends instead.
func (p *Proxy) fate(resource string) (lag time.Duration, dropped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most := p.faults.Lag[resource]; most > 0 {
		lag = time.Duration(p.sequence("lag " + resource).Int64N(int64(most)))
		p.counts["late"]++
	}
	if p.sequence("drop "+resource).Float64() < p.faults.Drop {
		p.expired[resource], dropped = true, true
		p.counts["dropped"]++
	}
	return lag, dropped
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
