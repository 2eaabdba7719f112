// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/devicequota/devicequota/config"
)

// dispatcherProgram is also the common start of the component names of dispatchers.
const dispatcherProgram = "vc-dispatcher"

// DispatcherOptions are the options of a dispatcher.
type DispatcherOptions struct {
	// ConfigFile is the file with the dispatcher's configuration. If it is empty, the dispatcher uses the configuration in config/dispatcher.
	ConfigFile string
	// Args are additional flags, which override the defaults.
	Args []string
}

// Dispatcher is a dispatcher of a Karmada control plane.
type Dispatcher struct {
	karmada   *Karmada
	component string
	// paused is the process between Pause and Restart.
	paused *process
}

// StartDispatcher runs a dispatcher with exactly the permissions in config/dispatcher, and returns once it is ready. Several dispatchers
// elect a leader. Karmada's API server calls the webhook of any running dispatcher. A name can be reused after its dispatcher has ended.
func (k *Karmada) StartDispatcher(ctx context.Context, name string, o DispatcherOptions) (*Dispatcher, error) {
	if _, err := findBin(k.bin, []string{dispatcherProgram}, "build"); err != nil {
		return nil, err
	}
	if o.ConfigFile == "" {
		var err error
		if o.ConfigFile, err = k.defaultDispatcherConfig(); err != nil {
			return nil, err
		}
	}
	comp := k.dispatcher(dispatcherProgram+"-"+name, o)
	k.mu.Lock()
	running := k.processes[comp.name] != nil
	k.mu.Unlock()
	if running {
		return nil, fmt.Errorf("dispatcher %s is running already", name)
	}
	if err := k.installDispatcher(ctx); err != nil {
		return nil, err
	}
	if err := k.run(ctx, comp); err != nil {
		return nil, err
	}
	return &Dispatcher{karmada: k, component: comp.name}, nil
}

func (k *Karmada) defaultDispatcherConfig() (string, error) {
	data, err := config.FS.ReadFile("dispatcher/config.yaml")
	if err != nil {
		return "", err
	}
	file := filepath.Join(k.state, "dispatcher.yaml")
	return file, os.WriteFile(file, data, 0o600)
}

func (k *Karmada) dispatcher(name string, o DispatcherOptions) component {
	return component{
		name:  name,
		ports: 3,
		command: func(ports []string) []string {
			args := []string{
				"--kubeconfig=" + k.kubeconfig(dispatcherProgram), "--config=" + o.ConfigFile, "--leader-elect=true", "--leader-elect-resource-namespace=volcano-system",
				"--kube-api-qps=2000", "--kube-api-burst=4000", "--dispatch-period=200ms",
				"--webhook-bind-address=127.0.0.1", "--webhook-port=" + ports[0],
				"--tls-cert-file=" + k.pki.certFile(dispatcherProgram), "--tls-private-key-file=" + k.pki.keyFile(dispatcherProgram),
				"--metrics-bind-address=" + local(ports[1]), "--health-probe-bind-address=" + local(ports[2]),
			}
			return k.role("guard", append(append([]string{filepath.Join(k.bin, dispatcherProgram)}, args...), o.Args...)...)
		},
		ready: k.serves("http", 2, "/readyz"),
	}
}

// installDispatcher applies the dispatcher's permissions, admission policies, and webhooks. The webhooks precede the dispatcher, to handle the
// first binding.
func (k *Karmada) installDispatcher(ctx context.Context) error {
	permissions, err := embedded("dispatcher/rbac.yaml", "dispatcher/rbac-members.yaml", "dispatcher/admission.yaml")
	if err != nil {
		return err
	}
	webhooks, err := embedded("dispatcher/webhook.yaml")
	if err != nil {
		return err
	}
	for _, m := range webhooks {
		if err := k.redirect(m.object); err != nil {
			return fmt.Errorf("%s: %w", m.source, err)
		}
	}
	return k.apply(ctx, slices.Concat(permissions, webhooks))
}

// redirect points a webhook configuration to the webhook on this machine in place of a Service.
func (k *Karmada) redirect(configuration *unstructured.Unstructured) error {
	webhooks, found, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || !found {
		return err
	}
	for _, w := range webhooks {
		webhook, _ := w.(map[string]any)
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		webhook["clientConfig"] = map[string]any{
			"url": "https://" + k.webhook.address + path, "caBundle": base64.StdEncoding.EncodeToString(k.pki.caPEM()),
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

// webhooks returns the addresses of the webhooks of running dispatchers.
func (k *Karmada) webhooks() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var addresses []string
	for name := range k.processes {
		if strings.HasPrefix(name, dispatcherProgram+"-") {
			addresses = append(addresses, local(k.ports[name][0]))
		}
	}
	return addresses
}

// Kill ends the dispatcher with SIGKILL, as in a crash.
func (d *Dispatcher) Kill() error {
	return d.karmada.Kill(d.component)
}

// Stop ends the dispatcher with SIGTERM, as in a rolling update.
func (d *Dispatcher) Stop() error {
	return d.karmada.terminate(d.component)
}

// Pause stops the dispatcher with SIGSTOP, as if its machine were suspended. Karmada's API server stops to call its webhook, as if its Pod
// were not ready. If the dispatcher ends afterwards, it is not reported as failed.
func (d *Dispatcher) Pause() error {
	p, err := d.karmada.release(d.component)
	if err != nil {
		return err
	}
	d.paused = p
	return p.signal(syscall.SIGSTOP)
}

// Resume continues a paused dispatcher. Restart must follow.
func (d *Dispatcher) Resume() error {
	return d.paused.signal(syscall.SIGCONT)
}

// Restart starts the dispatcher again and waits until it is ready. If it is running, Restart kills it first.
func (d *Dispatcher) Restart(ctx context.Context) error {
	if d.paused != nil {
		d.paused.kill()
		d.paused = nil
	}
	return d.karmada.Restart(ctx, d.component)
}

// Log returns the file with the dispatcher's log.
func (d *Dispatcher) Log() string {
	return filepath.Join(d.karmada.state, "logs", d.component+".log")
}

// MetricsURL returns the URL of the dispatcher's Prometheus metrics.
func (d *Dispatcher) MetricsURL() string {
	return "http://" + d.karmada.addressOf(d.component, 1) + "/metrics"
}
