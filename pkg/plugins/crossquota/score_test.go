// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"math"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// On the GPU node 2 of 8 cores and 8 of 32 GiB are used by pods without GPU.
func TestScores(t *testing.T) {
	both := func(further ...any) framework.Arguments {
		return gpuArgs(append([]any{argQuotaResources, "cpu,memory"}, further...)...)
	}
	for name, c := range map[string]struct {
		args              framework.Arguments
		strategy, request string
		want, plain       float64
	}{
		"the most allocated node comes first by default":              {args: gpuArgs(), request: "cpu=2", want: 10 * 4. / 8},
		"the most allocated node comes first if the pod asks for it":  {args: gpuArgs(), strategy: "most-allocated", request: "cpu=2", want: 10 * 4. / 8},
		"the least allocated node comes first if the pod asks for it": {args: gpuArgs(), strategy: "least-allocated", request: "cpu=4", want: 10 * 2. / 8},
		"an unknown strategy is the default":                          {args: gpuArgs(), strategy: "best", request: "cpu=2", want: 10 * 4. / 8},
		"the total is the quota":                                      {args: gpuArgs("quota.cpu", 5), request: "cpu=2", want: 10 * 4. / 5},
		"cpu weighs 10 and memory 1":                                  {args: both(), request: "cpu=2 memory=16Gi", want: 10 * (10*4./8 + 24./32) / 11},
		"both strategies weigh alike":                                 {args: both(), strategy: "least-allocated", request: "cpu=2 memory=16Gi", want: 10 * (10*4./8 + 8./32) / 11},
		"arguments change weights":                                    {args: both("weight.cpu", 1, "weight.memory", "3"), request: "cpu=2 memory=16Gi", want: 10 * (4./8 + 3*24./32) / 4},
		"a weight of 0 leaves a resource out":                         {args: both("weight.cpu", 0), request: "cpu=2 memory=16Gi", want: 10 * 24. / 32},
		"a resource that is not requested is left out":                {args: both(), request: "memory=16Gi", want: 10 * 24. / 32},
		"a pod without requests scores 0":                             {args: both(), request: ""},
		"weights of 0 everywhere score 0":                             {args: both("weight.cpu", 0, "weight.memory", 0), request: "cpu=2 memory=16Gi"},
		"the plugin's weight multiplies":                              {args: gpuArgs(argPluginWeight, 2.5), request: "cpu=2", want: 2.5 * 4. / 8},
		"GPU pods are not scored":                                     {args: gpuArgs(argPreferPlain, true), request: "cpu=2 nvidia.com/gpu=1"},
		"pods outside the selector are not scored":                    {args: gpuArgs(argPreferPlain, true, argLabelSelector, map[any]any{"matchLabels": map[any]any{"a": "b"}}), request: "cpu=2"},
		"plain nodes can be preferred":                                {args: gpuArgs(argPreferPlain, true), request: "cpu=2", want: 10 * 4. / 8, plain: 10},
		"a node beyond its quota is full":                             {args: gpuArgs("quota.cpu", 1), request: "cpu=2", want: 10},
		"a node beyond its quota has nothing left":                    {args: gpuArgs("quota.cpu", 1), strategy: "least-allocated", request: "cpu=2"},
		"a quota of 0 is full":                                        {args: gpuArgs("quota.cpu", 0), request: "cpu=2", want: 10},
		"a pod that takes the rest leaves nothing":                    {args: gpuArgs(), strategy: "least-allocated", request: "cpu=6"},
		"a pod that takes the rest fills the quota":                   {args: gpuArgs(), request: "cpu=6", want: 10},
		"plain nodes are preferred for a pod without requests":        {args: gpuArgs(argPreferPlain, true), request: "", plain: 10},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("new", "", c.request)
			if c.strategy != "" {
				pod.Annotations["volcano.sh/crossquota-scoring-strategy"] = c.strategy
			}
			f := newFixture(c.args).node("gpu", eightCores).node("plain", "cpu=8 memory=32Gi")
			holder := newPod("existing", "gpu", "cpu=2 memory=8Gi")
			holder.Labels = map[string]string{"a": "b"}
			f.outside(holder).job("job", 0, pod).open(t)
			for node, want := range map[string]float64{"gpu": c.want, "plain": c.plain} {
				got, err := f.session.NodeOrderFn(f.task("new"), f.session.Nodes[node])
				if err != nil || math.Abs(got-want) > 1e-9 {
					t.Errorf("node %s scores %v (%v), want %v", node, got, err, want)
				}
			}
		})
	}
}

func TestAWeightOfZeroTurnsOrderingOff(t *testing.T) {
	f := newFixture(gpuArgs(argPluginWeight, 0, argPreferPlain, true)).node("gpu", eightCores).node("plain", "cpu=8")
	pod := newPod("new", "", "cpu=2")
	pod.Annotations[strategyAnnotation] = "best"
	f.job("job", 0, pod).open(t)
	for _, node := range f.session.NodeList {
		if got, err := f.session.NodeOrderFn(f.task("new"), node); got != 0 || err != nil {
			t.Errorf("node %s scores %v, %v", node.Name, got, err)
		}
	}
	if err := f.session.PrePredicateFn(f.task("new")); err != nil {
		t.Fatal(err)
	}
	if events := f.events(); len(events) > 0 {
		t.Errorf("events are %v although strategies do not matter", events)
	}
}

// One node has a pod, the other has none; each strategy prefers one of them.
func TestStrategiesSteerPods(t *testing.T) {
	for strategy, want := range map[string]string{"most-allocated": "busy", "least-allocated": "idle", "": "busy"} {
		f := newFixture(gpuArgs()).node("busy", eightCores).node("idle", eightCores)
		pod := newPod("new", "", "cpu=1")
		pod.Annotations[strategyAnnotation] = strategy
		f.outside(newPod("existing", "busy", "cpu=1")).job("job", 0, pod).open(t).allocate()
		if got := f.task("new").NodeName; got != want {
			t.Errorf("%q puts the pod on %q, want %s", strategy, got, want)
		}
	}
}
