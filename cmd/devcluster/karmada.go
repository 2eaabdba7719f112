// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/devicequota/devicequota/test/cluster"
)

// multicluster are the options of a Karmada control plane in addition to those of a cluster.
type multicluster struct {
	karmada         bool
	members         int
	memberManifests []string
}

// start starts Karmada with members. The options for a scheduler apply to the members.
func (m multicluster) start(ctx context.Context, options cluster.Options) (*cluster.Karmada, error) {
	karmada := cluster.KarmadaOptions{
		Bin: options.Bin, State: options.State, Kubeconfig: options.Kubeconfig, Manifests: options.Manifests, OnReady: options.OnReady,
	}
	for _, name := range m.names() {
		karmada.Members = append(karmada.Members, cluster.Member{Name: name, Options: cluster.Options{
			Manifests: m.memberManifests, SchedulerConfig: options.SchedulerConfig, UpstreamScheduler: options.UpstreamScheduler,
		}})
	}
	return cluster.StartKarmada(ctx, karmada)
}

func (m multicluster) names() []string {
	var names []string
	for i := range m.members {
		names = append(names, fmt.Sprint("member", i+1))
	}
	return names
}
