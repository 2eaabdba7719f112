// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/spf13/pflag"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers Volcano's actions
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins" // registers Volcano's plugins

	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/plugins/capacity"
	"github.com/devicequota/devicequota/pkg/plugins/crossquota"
	"github.com/devicequota/devicequota/pkg/plugins/nodeorder"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
	"github.com/devicequota/devicequota/pkg/scheduler"
	"github.com/devicequota/devicequota/pkg/simulation/internal/apiserver"
)

// running is locked while a simulation runs.
var running sync.Mutex

// versions matches versions of Kubernetes, with or without a vendor's suffix.
var versions = regexp.MustCompile(`^v[0-9]+\.[0-9]+`)

// replay is a scheduler with the state of a cluster.
type replay struct {
	server    *apiserver.Server
	plugins   *capacity.Plugins
	scheduler *scheduler.Scheduler
	before    *clusterstate.State
	// classes are the PriorityClasses of the state before.
	classes []schedulingv1.PriorityClass
	// complete reports whether the server has all objects. Controllers run only then.
	complete bool
}

// Run replays a state until nothing changes. Explained chooses the waiting workloads to explain. Nil chooses none.
func Run(ctx context.Context, state *clusterstate.State, explained func(*Workload) bool) (*Outcome, error) {
	if !running.TryLock() {
		return nil, errors.New("another simulation runs in this process")
	}
	defer running.Unlock()
	if state.Configuration == "" {
		return nil, errors.New("the configuration of the scheduler is not known: " + clusterstate.NoConfiguration)
	}
	if !versions.MatchString(state.Kubernetes) {
		return nil, fmt.Errorf("the state has %q as the version of Kubernetes, which is none: write for example v1.34.1", state.Kubernetes)
	}
	r := &replay{server: apiserver.New(state.Kubernetes), before: state}
	waiting, err := r.load(state)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r.register(ctx)
	defer r.plugins.Shutdown()
	defer cancel()
	if err := r.start(ctx, state); err != nil {
		return nil, err
	}
	// A scheduler that has just started may let jobs in before it has read everything. The replayed scheduler must have run for some time.
	if err := r.runSessions(ctx); err != nil {
		return nil, err
	}
	for _, object := range waiting {
		if err := r.server.Put(object); err != nil {
			return nil, err
		}
	}
	r.complete = true
	if err := r.runSessions(ctx); err != nil {
		return nil, err
	}
	return r.outcome(ctx, explained)
}

// register registers plugins and actions as the command of the scheduler does.
func (r *replay) register(ctx context.Context) {
	r.plugins = capacity.New(ctx)
	for name, builder := range r.plugins.Builders() {
		framework.RegisterPluginBuilder(name, builder)
	}
	framework.RegisterPluginBuilder(predicates.Name, predicates.NewBuilder(capacity.Name, capacity.CardName))
	framework.RegisterPluginBuilder(crossquota.Name, crossquota.NewBuilder())
	framework.RegisterPluginBuilder(nodeorder.Name, nodeorder.New)
	for _, action := range r.plugins.Actions() {
		framework.RegisterAction(action)
	}
}

// start creates the scheduler as its command does.
func (r *replay) start(ctx context.Context, state *clusterstate.State) error {
	opts := options.NewServerOption()
	opts.AddFlags(pflag.NewFlagSet("simulation", pflag.ContinueOnError)) // sets the defaults
	opts.EnableCacheDumper = false
	opts.RegisterOptions()
	made, err := scheduler.NewForReplay(r.server.Config(), scheduler.Config{
		Options: opts, Configuration: state.Configuration, Begin: r.plugins.Begin, BeforeClose: r.plugins.Answer, Ready: r.plugins.Ready,
	})
	if err != nil {
		return fmt.Errorf("start the scheduler: %w", err)
	}
	r.scheduler = made
	made.Start(ctx)
	return nil
}

// load puts objects into the server. It returns the waiting pods and PodGroups instead.
func (r *replay) load(state *clusterstate.State) (waiting []*unstructured.Unstructured, err error) {
	r.classes = priorityClasses(state)
	for i := range state.Items {
		if err := Check(&state.Items[i]); err != nil {
			return nil, err
		}
		object, err := defaulted(&state.Items[i], r.classes)
		if err != nil {
			return nil, err
		}
		if waits(object) {
			waiting = append(waiting, object)
			continue
		}
		if err := r.server.Put(object); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// waits reports whether an object is a pod without a node, or a PodGroup that has not been let in.
func waits(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "Pod":
		node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		return node == ""
	case groupKind:
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == "" || phase == "Pending"
	}
	return false
}

// Namespaced reports whether the scheduler reads objects of this kind and they have a namespace.
func Namespaced(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	return isReplicated(object) || slices.ContainsFunc(apiserver.Resources, func(r apiserver.Resource) bool { return r.Namespaced && r.Group == gvk.Group && r.Kind == gvk.Kind })
}
