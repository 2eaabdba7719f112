// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// KarmadaOptions are the options of a Karmada control plane and its members.
type KarmadaOptions struct {
	// Bin is the folder of the binaries that `make build-multicluster` builds: see Options.Bin.
	Bin string
	// State is the folder for all state, including the members'. It is created if it does not exist, and kept. If it is empty, each control
	// plane has a temporary folder that is removed when it stops.
	State string
	// Kubeconfig is a second file for the kubeconfig of Karmada's administrator. It is empty for none.
	Kubeconfig string
	// Members are the clusters that Karmada manages.
	Members []Member
	// Manifests are files or folders that are applied to Karmada's API server before StartKarmada returns.
	Manifests []string
	// SchedulerArgs and APIServerArgs are additional flags of karmada-scheduler and Karmada's kube-apiserver, which override the defaults.
	SchedulerArgs, APIServerArgs []string
	// OnReady, if not nil, is called when a component is ready, with the time that it took. The name of a member's component is
	// MEMBER/COMPONENT. Several goroutines may call OnReady, but not at the same time.
	OnReady func(component string, took time.Duration)
}

// Member is a cluster that Karmada manages.
type Member struct {
	// Name is the name of Karmada's Cluster object.
	Name string
	// Options are the cluster's options. Bin, State and OnReady default to Karmada's.
	Options Options
}

// Karmada is a running Karmada control plane with its members. It is safe for concurrent use.
type Karmada struct {
	*controlPlane
	options KarmadaOptions
	members map[string]*member
	// webhook leads to the webhook of a running dispatcher.
	webhook *forwarder
	cancel  context.CancelFunc
	stopAll func() error
}

// StartKarmada runs a Karmada control plane and its members. It returns once the members are Ready and the manifests are applied. Everything
// stops when ctx ends or Stop is called. The error names the component or the file that failed.
func StartKarmada(ctx context.Context, o KarmadaOptions) (*Karmada, error) {
	bin, err := findBin(o.Bin, []string{controlplaneProgram, karmadaProgram, karmadaFolder, crdFolder}, "build-multicluster")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	k := &Karmada{options: o, members: map[string]*member{}, cancel: cancel, controlPlane: newControlPlane(settings{
		bin: bin, state: o.State, kubeconfigCopy: o.Kubeconfig, identities: karmadaIdentities, onReady: o.OnReady,
	})}
	k.stopAll = sync.OnceValue(k.stopAllOnce)
	if err := k.start(ctx); err != nil {
		return nil, errors.Join(err, k.Stop())
	}
	context.AfterFunc(ctx, func() { _ = k.Stop() })
	return k, nil
}

func (k *Karmada) start(ctx context.Context) error {
	if err := k.prepare(); err != nil {
		return err
	}
	manifests, err := readManifests(k.options.Manifests...)
	if err != nil {
		return err
	}
	if err := k.openForwarders(); err != nil {
		return err
	}
	starts, registrations := []step{k.startHub}, []step{}
	for _, m := range k.members {
		starts = append(starts, func(ctx context.Context) error { return k.startMember(ctx, m) })
		registrations = append(registrations, func(ctx context.Context) error { return k.register(ctx, m) })
	}
	if err := k.inParallel(ctx, starts...); err != nil {
		return err
	}
	if err := k.inParallel(ctx, registrations...); err != nil {
		return err
	}
	claimTemplates, err := embedded("dispatcher/claim-templates.yaml")
	if err != nil {
		return err
	}
	return k.apply(ctx, append(claimTemplates, manifests...))
}

// openForwarders opens the addresses at which Karmada reaches its members, and Karmada's API server reaches the dispatchers.
func (k *Karmada) openForwarders() error {
	for _, m := range k.options.Members {
		if k.members[m.Name] != nil {
			return fmt.Errorf("two members are called %s", m.Name)
		}
		started := &member{Member: m}
		k.members[m.Name] = started
		var err error
		if started.endpoint, err = openForwarder(started.apiServers); err != nil {
			return err
		}
	}
	var err error
	k.webhook, err = openForwarder(k.webhooks)
	return err
}

// startHub starts Karmada's own control plane.
func (k *Karmada) startHub(ctx context.Context) error {
	if err := k.run(ctx, k.etcd()); err != nil {
		return err
	}
	if err := k.run(ctx, k.apiServer(append([]string{noAccounts}, k.options.APIServerArgs...)...)); err != nil {
		return err
	}
	if err := k.bootstrap(ctx); err != nil {
		return err
	}
	return k.inParallel(ctx,
		func(ctx context.Context) error {
			return k.run(ctx, k.controllerManager(hubControllers, k.serves("https", 0, "/healthz")))
		},
		func(ctx context.Context) error { return k.run(ctx, k.scheduler()) },
		func(ctx context.Context) error { return k.run(ctx, k.karmadaControllers()) },
		func(ctx context.Context) error {
			if err := k.run(ctx, k.karmadaWebhook()); err != nil {
				return err
			}
			return k.applyKarmadasWebhooks(ctx)
		})
}

type step func(context.Context) error

// inParallel runs steps concurrently and returns the first error. An error cancels all other steps.
func (k *Karmada) inParallel(ctx context.Context, steps ...step) error {
	var group errgroup.Group
	for _, s := range steps {
		group.Go(func() error {
			err := s(ctx)
			if err != nil {
				k.cancel()
			}
			return err
		})
	}
	return group.Wait()
}

// Member returns the cluster of a member. It panics if there is no member of that name.
func (k *Karmada) Member(name string) *Cluster {
	return k.members[name].Cluster
}

// Stop ends Karmada and its members, and removes temporary state folders. It may be called more than once. Each call returns after everything
// has stopped.
func (k *Karmada) Stop() error {
	return k.stopAll()
}

func (k *Karmada) stopAllOnce() error {
	k.cancel()
	stops := []step{func(context.Context) error { return k.controlPlane.Stop() }}
	for _, m := range k.members {
		stops = append(stops, func(context.Context) error { return m.stop() })
	}
	err := k.inParallel(context.Background(), stops...)
	if k.webhook != nil {
		k.webhook.end()
	}
	return err
}
