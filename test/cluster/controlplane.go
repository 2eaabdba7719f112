// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// readyTimeout limits how long one component may take to get ready.
	readyTimeout = 2 * time.Minute
	// readyPoll is the interval at which a starting component is probed.
	readyPoll = 50 * time.Millisecond
	// portAttempts limits the starts of a component if another program takes its port before the component listens.
	portAttempts = 3

	lockName = "lock"
)

// controlPlane is an etcd, a kube-apiserver, and components around them, each in its own process, with a common certificate authority and
// state folder.
type controlPlane struct {
	settings
	temporary bool
	pki       *pki
	// frontProxy has the authority and the certificate for requests that the API server forwards.
	frontProxy        *pki
	serviceAccountKey string
	lock              *os.File
	janitor           *process

	// These fields are set while the control plane starts. Later, they are read-only.
	ports   map[string][]string
	probe   *http.Client
	config  *rest.Config
	dynamic dynamic.Interface
	applier *applier

	failed    chan error
	reporting sync.Mutex
	stop      func() error

	mu         sync.Mutex
	reserved   map[string]reservation
	components map[string]component
	processes  map[string]*process
	// started has the names of components in the order of their first start.
	started []string
	stopped bool
}

// settings are the options of a control plane.
type settings struct {
	// bin is the folder of the binaries.
	bin string
	// state is the folder for all state. If it is empty, it is a temporary folder.
	state string
	// kubeconfigCopy is a second file for the administrator's kubeconfig. It is empty for none.
	kubeconfigCopy string
	// identities are the users of the components and of the administrator.
	identities map[string]identity
	// onReady, if not nil, is called when a component is ready, with the time that it took.
	onReady func(component string, took time.Duration)
}

func newControlPlane(s settings) *controlPlane {
	c := &controlPlane{
		settings: s, ports: map[string][]string{}, reserved: map[string]reservation{}, components: map[string]component{}, processes: map[string]*process{},
		failed: make(chan error, 1),
	}
	c.stop = sync.OnceValue(c.stopOnce)
	return c
}

// run starts a component for the first time, on new ports.
func (c *controlPlane) run(ctx context.Context, comp component) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		reserved, ports, err := reservePorts(comp.ports)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.reserved[comp.name].release()
		c.reserved[comp.name] = reserved
		if _, found := c.components[comp.name]; !found {
			c.started = append(c.started, comp.name)
		}
		c.ports[comp.name], c.components[comp.name] = ports, comp
		c.mu.Unlock()
		if comp.name == APIServer {
			if err := c.connect(ports[0]); err != nil {
				return err
			}
		}
		p, err := c.launch(ctx, comp)
		if err == nil {
			break
		}
		if p == nil || !p.lostPort() || attempt == portAttempts {
			return err
		}
	}
	c.report(comp.name, time.Since(began))
	return nil
}

func (c *controlPlane) report(name string, took time.Duration) {
	if c.onReady == nil {
		return
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.onReady(name, took)
}

// launch starts a component's process and waits until it is ready.
func (c *controlPlane) launch(ctx context.Context, comp component) (*process, error) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, errors.New("the control plane is stopped")
	}
	ports := c.ports[comp.name]
	p, err := startProcess(comp.name, filepath.Join(c.state, "logs", comp.name+".log"), c.lock, comp.command(ports)...)
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.processes[comp.name] = p
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	var last error
	for {
		if last = comp.ready(ctx, ports); last == nil {
			go c.watch(p)
			return p, nil
		}
		select {
		case <-p.done:
			return p, p.failure()
		case <-ctx.Done():
			return p, fmt.Errorf("%s is not ready: %w; the end of %s:\n%s", comp.name, last, p.log, tail(p.log))
		case <-poll.C:
		}
	}
}

// watch reports a process that ends unexpectedly.
func (c *controlPlane) watch(p *process) {
	<-p.done
	c.mu.Lock()
	expected := c.stopped || c.processes[p.name] != p
	c.mu.Unlock()
	if !expected {
		c.fail(p.failure())
	}
}

func (c *controlPlane) fail(err error) {
	select {
	case c.failed <- err:
	default: // Failed delivers one error only
	}
}

// addressOf returns an address of a component that has been started.
func (c *controlPlane) addressOf(component string, port int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return local(c.ports[component][port])
}

// Failed delivers at most one error, about the first component that ended unexpectedly, with the end of its log.
func (c *controlPlane) Failed() <-chan error {
	return c.failed
}

// Config returns the administrator's client configuration, without a client-side rate limit.
func (c *controlPlane) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Kubeconfig returns the file with the administrator's kubeconfig.
func (c *controlPlane) Kubeconfig() string {
	return c.kubeconfig(admin)
}

// State returns the state folder. Its subfolder logs has the logs.
func (c *controlPlane) State() string {
	return c.state
}

// Apply applies manifests in files and folders.
func (c *controlPlane) Apply(ctx context.Context, paths ...string) error {
	manifests, err := readManifests(paths...)
	if err != nil {
		return err
	}
	return c.apply(ctx, manifests)
}

// ApplyConfig applies manifests in files and folders of package config.
func (c *controlPlane) ApplyConfig(ctx context.Context, paths ...string) error {
	manifests, err := embedded(paths...)
	if err != nil {
		return err
	}
	return c.apply(ctx, manifests)
}

// ApplyYAML applies YAML documents. Source is their name in errors.
func (c *controlPlane) ApplyYAML(ctx context.Context, source string, data []byte) error {
	manifests, err := parseManifests(source, data)
	if err != nil {
		return err
	}
	return c.apply(ctx, manifests)
}

// Stop ends all components in reverse order of their start, and removes a temporary state folder. It may be called more than once. Each call
// returns after the cluster has stopped.
func (c *controlPlane) Stop() error {
	return c.stop()
}

func (c *controlPlane) stopOnce() error {
	c.mu.Lock()
	c.stopped = true
	var processes []*process
	for _, name := range slices.Backward(c.started) {
		if p := c.processes[name]; p != nil {
			processes = append(processes, p)
		}
	}
	c.mu.Unlock()

	for _, p := range processes {
		p.stop()
	}
	c.releasePorts()
	var errs []error
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.state))
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	if c.janitor != nil {
		c.janitor.stop()
	}
	return errors.Join(errs...)
}

func (c *controlPlane) releasePorts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.reserved {
		r.release()
	}
}
