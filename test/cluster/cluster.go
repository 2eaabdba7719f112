// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// readyTimeout bounds how long one component may take to get ready.
	readyTimeout = 2 * time.Minute
	// readyPoll is the interval at which a starting component is probed.
	readyPoll = 50 * time.Millisecond
	// portAttempts is how often a component is started if another program takes its port before the
	// component listens on it.
	portAttempts = 3

	lockName = "lock"
)

var queueResource = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}

// Cluster is a running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	options           Options
	bin, state        string
	temporary         bool
	pki               *pki
	serviceAccountKey string
	schedulerConfig   string
	lock              *os.File
	janitor           *process

	// These fields are set while the cluster starts, and read-only afterwards.
	ports   map[string][]string
	probe   *http.Client
	config  *rest.Config
	dynamic dynamic.Interface
	applier *applier

	failed  chan error
	onReady sync.Mutex
	stop    func() error

	mu         sync.Mutex
	components map[string]component
	processes  map[string]*process
	stopped    bool
}

// Start runs a control plane. It returns once the control plane is ready and the manifests are applied. The
// cluster stops when ctx ends or Stop is called. The error names the component or the file that failed.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{
		options: o, ports: map[string][]string{}, components: map[string]component{}, processes: map[string]*process{},
		failed: make(chan error, 1),
	}
	c.stop = sync.OnceValue(c.stopOnce)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	context.AfterFunc(ctx, func() { _ = c.Stop() })
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	manifests, err := readManifests(c.options.Manifests...)
	if err != nil {
		return err
	}
	if err := c.run(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.run(ctx, c.apiServer()); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.run(groupCtx, c.controllerManager()) })
	group.Go(func() error {
		if err := c.bootstrap(groupCtx); err != nil {
			return err
		}
		for _, comp := range []component{c.kwok(), c.volcanoControllers(), c.volcanoScheduler()} {
			group.Go(func() error { return c.run(groupCtx, comp) })
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return c.applier.apply(ctx, manifests)
}

// run starts a component for the first time, on ports of its own.
func (c *Cluster) run(ctx context.Context, comp component) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(comp.ports)
		if err != nil {
			return err
		}
		c.mu.Lock()
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
	if c.options.OnReady != nil {
		c.onReady.Lock()
		defer c.onReady.Unlock()
		c.options.OnReady(comp.name, time.Since(began))
	}
	return nil
}

// launch starts a component's process and waits until it is ready.
func (c *Cluster) launch(ctx context.Context, comp component) (*process, error) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, errors.New("the cluster is stopped")
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
func (c *Cluster) watch(p *process) {
	<-p.done
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.processes[p.name] != p {
		return
	}
	select {
	case c.failed <- p.failure():
	default: // Failed delivers one error only
	}
}

// Failed delivers at most one error, about the first component that ended unexpectedly, with the end of its
// log.
func (c *Cluster) Failed() <-chan error {
	return c.failed
}

// Config returns the administrator's client configuration, without a client-side rate limit.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Kubeconfig returns the file with the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return c.kubeconfig(admin)
}

// State returns the folder of the cluster's state. Its folder logs has the logs.
func (c *Cluster) State() string {
	return c.state
}

// SchedulerMetricsURL returns the URL of the scheduler's Prometheus metrics.
func (c *Cluster) SchedulerMetricsURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "http://" + local(c.ports[VolcanoScheduler][0]) + "/metrics"
}

// SchedulerReadyURL returns the URL that says whether the scheduler can read what it needs.
func (c *Cluster) SchedulerReadyURL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "http://" + local(c.ports[VolcanoScheduler][1]) + "/readyz"
}

// Apply applies manifests in files and folders.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	manifests, err := readManifests(paths...)
	if err != nil {
		return err
	}
	return c.applier.apply(ctx, manifests)
}

// ApplyYAML applies YAML documents. Source is their name in errors.
func (c *Cluster) ApplyYAML(ctx context.Context, source string, data []byte) error {
	manifests, err := parseManifests(source, data)
	if err != nil {
		return err
	}
	return c.applier.apply(ctx, manifests)
}

// Stop ends all components in reverse order of their start, and removes a temporary state folder. It may be
// called more than once; every call returns after the cluster has stopped.
func (c *Cluster) Stop() error {
	return c.stop()
}

func (c *Cluster) stopOnce() error {
	c.mu.Lock()
	c.stopped = true
	processes := maps.Clone(c.processes)
	c.mu.Unlock()

	for _, name := range []string{Kwok, VolcanoScheduler, VolcanoControllers, ControllerManager, APIServer, Etcd} {
		if p := processes[name]; p != nil {
			p.stop()
		}
	}
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
