// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var queueResource = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}

// Cluster is a running control plane. It is safe for concurrent use.
type Cluster struct {
	*controlPlane
	options         Options
	schedulerConfig string
}

// Start runs a control plane. It returns once the control plane is ready and the manifests are applied. The cluster stops when ctx ends or
// Stop is called. The error names the component or the file that failed.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	bin, err := findBin(o.Bin, o.needed(), "build")
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, controlPlane: newControlPlane(settings{
		bin: bin, state: o.State, kubeconfigCopy: o.Kubeconfig, identities: identities, onReady: o.OnReady,
	})}
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
	if err := os.WriteFile(filepath.Join(c.state, stagesFile), stages, 0o600); err != nil {
		return err
	}
	if err := c.writeSchedulerConfig(); err != nil {
		return err
	}
	manifests, err := readManifests(c.options.Manifests...)
	if err != nil {
		return err
	}
	if err := c.run(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.run(ctx, c.apiServer(append([]string{noNodeTaints}, c.options.APIServerArgs...)...)); err != nil {
		return err
	}
	// Kubernetes' garbage collector looks for new types only every 30 seconds. Until then, it would not delete the pods of deleted jobs.
	if !c.options.WithoutVolcano {
		if err := c.bootstrap(ctx); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.run(groupCtx, c.controllerManager(controllers, c.hasServiceAccounts)) })
	group.Go(func() error {
		if c.options.WithoutVolcano {
			return c.startWithoutVolcano(groupCtx)
		}
		group.Go(func() error { return c.run(groupCtx, c.kwok()) })
		if c.options.Scheduler != Kube { // its pods need no PodGroups, and nothing makes the first queues
			group.Go(func() error { return c.run(groupCtx, c.volcanoControllers()) })
		}
		if err := c.run(groupCtx, c.volcanoScheduler()); err != nil {
			return err
		}
		return c.forwardVisibility(groupCtx)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return c.apply(ctx, manifests)
}

// SchedulerReadyURL returns the URL that reports whether the scheduler can read everything it needs.
func (c *Cluster) SchedulerReadyURL() string {
	return "http://" + c.addressOf(VolcanoScheduler, 1) + "/readyz"
}

// VisibilityURL returns the URL at which the scheduler serves its ledger.
func (c *Cluster) VisibilityURL() string {
	return "https://" + c.addressOf(VolcanoScheduler, 2)
}

// startWithoutVolcano starts only kwok.
func (c *Cluster) startWithoutVolcano(ctx context.Context) error {
	rights, err := parseManifests("rbac.yaml", rbac)
	if err != nil {
		return err
	}
	if err := c.apply(ctx, rights); err != nil {
		return err
	}
	return c.run(ctx, c.kwok())
}

// StartVolcanoControllers starts Volcano's controllers in a cluster that was started without Volcano. The cluster must have Volcano's CRDs and
// a running scheduler, which creates the first queues. It returns when the queue default is open.
func (c *Cluster) StartVolcanoControllers(ctx context.Context) error {
	watched := []schema.GroupVersionResource{queueResource, queueResource.GroupVersion().WithResource("podgroups"), {Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}}
	if err := c.waitForWatches(ctx, watched); err != nil {
		return err
	}
	return c.run(ctx, c.volcanoControllers())
}
