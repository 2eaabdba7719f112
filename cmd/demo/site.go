// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/test/cluster"
)

// site is the place of acts.
type site struct {
	// applier applies manifests where users submit jobs. members are the clusters where pods run.
	applier applier
	members []member
	failed  <-chan error
	stop    func() error
}

// applier is a control plane that accepts manifests.
type applier interface {
	ApplyConfig(ctx context.Context, samples ...string) error
	Config() *rest.Config
}

// member is a cluster where pods run.
type member struct {
	// name is empty if there is only one cluster.
	name string
	applier
}

// The members of the multi-cluster demo. The samples refer to them.
var memberNames = []string{"member1", "member2"}

// oneCluster starts a control plane for both jobs and pods.
func oneCluster(ctx context.Context, out *screen) (*site, error) {
	out.line(bold, "Starting a control plane on this machine")
	c, err := cluster.Start(ctx, cluster.Options{OnReady: out.ready})
	if err != nil {
		return nil, err
	}
	return &site{applier: c, members: []member{{"", c}}, failed: c.Failed(), stop: c.Stop}, nil
}

// twoClusters starts a Karmada control plane with a dispatcher and two members.
func twoClusters(ctx context.Context, out *screen) (*site, error) {
	out.line(bold, "Starting a Karmada control plane and two clusters on this machine")
	o := cluster.KarmadaOptions{OnReady: out.ready}
	for _, name := range memberNames {
		o.Members = append(o.Members, cluster.Member{Name: name})
	}
	k, err := cluster.StartKarmada(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &site{applier: k, failed: k.Failed(), stop: k.Stop}
	for _, name := range memberNames {
		s.members = append(s.members, member{name, k.Member(name)})
	}
	if _, err := k.StartDispatcher(ctx, "demo", cluster.DispatcherOptions{}); err != nil {
		return s, err
	}
	return s, nil
}
