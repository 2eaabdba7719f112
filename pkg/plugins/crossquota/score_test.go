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
		"the most allocated come first by default":            {args: gpuArgs(), request: "cpu=2", want: 10 * 4. / 8},
		"they do when the pod says so":                        {args: gpuArgs(), strategy: "most-allocated", request: "cpu=2", want: 10 * 4. / 8},
		"the least allocated do when it says so":              {args: gpuArgs(), strategy: "least-allocated", request: "cpu=4", want: 10 * 2. / 8},
		"an unknown strategy is the default":                  {args: gpuArgs(), strategy: "best", request: "cpu=2", want: 10 * 4. / 8},
		"the total is the quota":                              {args: gpuArgs("quota.cpu", 5), request: "cpu=2", want: 10 * 4. / 5},
		"cpu weighs 10 and memory 1":                          {args: both(), request: "cpu=2 memory=16Gi", want: 10 * (10*4./8 + 24./32) / 11},
		"both strategies weigh alike":                         {args: both(), strategy: "least-allocated", request: "cpu=2 memory=16Gi", want: 10 * (10*4./8 + 8./32) / 11},
		"arguments change weights":                            {args: both("weight.cpu", 1, "weight.memory", "3"), request: "cpu=2 memory=16Gi", want: 10 * (4./8 + 3*24./32) / 4},
		"a weight of 0 leaves a resource out":                 {args: both("weight.cpu", 0), request: "cpu=2 memory=16Gi", want: 10 * 24. / 32},
		"what is not requested is left out":                   {args: both(), request: "memory=16Gi", want: 10 * 24. / 32},
		"what requests nothing scores 0":                      {args: both(), request: ""},
		"weights of 0 everywhere score 0":                     {args: both("weight.cpu", 0, "weight.memory", 0), request: "cpu=2 memory=16Gi"},
		"the plugin's weight multiplies":                      {args: gpuArgs(argPluginWeight, 2.5), request: "cpu=2", want: 2.5 * 4. / 8},
		"GPU pods are not ranked":                             {args: gpuArgs(argPreferPlain, true), request: "cpu=2 nvidia.com/gpu=1"},
		"pods outside the selector are not":                   {args: gpuArgs(argPreferPlain, true, argLabelSelector, map[any]any{"matchLabels": map[any]any{"a": "b"}}), request: "cpu=2"},
		"plain nodes can be preferred":                        {args: gpuArgs(argPreferPlain, true), request: "cpu=2", want: 10 * 4. / 8, plain: 10},
		"a node beyond its quota is full":                     {args: gpuArgs("quota.cpu", 1), request: "cpu=2", want: 10},
		"a node beyond its quota has nothing left":            {args: gpuArgs("quota.cpu", 1), strategy: "least-allocated", request: "cpu=2"},
		"a quota of 0 is full, too":                           {args: gpuArgs("quota.cpu", 0), request: "cpu=2", want: 10},
		"what the last pod leaves is nothing":                 {args: gpuArgs(), strategy: "least-allocated", request: "cpu=6"},
		"what the last pod takes is all":                      {args: gpuArgs(), request: "cpu=6", want: 10},
		"plain nodes are preferred for what requests nothing": {args: gpuArgs(argPreferPlain, true), request: "", plain: 10},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("new", "", c.request)
			if c.strategy != "" {
				pod.Annotations["volcano.sh/crossquota-scoring-strategy"] = c.strategy
			}
			s := newScene(c.args).node("gpu", eightCores).node("plain", "cpu=8 memory=32Gi")
			holder := newPod("held", "gpu", "cpu=2 memory=8Gi")
			holder.Labels = map[string]string{"a": "b"}
			s.outside(holder).job("job", 0, pod).open(t)
			for node, want := range map[string]float64{"gpu": c.want, "plain": c.plain} {
				got, err := s.session.NodeOrderFn(s.task("new"), s.session.Nodes[node])
				if err != nil || math.Abs(got-want) > 1e-9 {
					t.Errorf("node %s scores %v (%v), want %v", node, got, err, want)
				}
			}
		})
	}
}

func TestAWeightOfZeroTurnsOrderingOff(t *testing.T) {
	s := newScene(gpuArgs(argPluginWeight, 0, argPreferPlain, true)).node("gpu", eightCores).node("plain", "cpu=8")
	pod := newPod("new", "", "cpu=2")
	pod.Annotations[strategyAnnotation] = "best"
	s.job("job", 0, pod).open(t)
	for _, node := range s.session.NodeList {
		if got, err := s.session.NodeOrderFn(s.task("new"), node); got != 0 || err != nil {
			t.Errorf("node %s scores %v, %v", node.Name, got, err)
		}
	}
	if err := s.session.PrePredicateFn(s.task("new")); err != nil {
		t.Fatal(err)
	}
	if told := s.taken(); len(told) > 0 {
		t.Errorf("an event says %v although strategies are of no account", told)
	}
}

// Both nodes are empty but for one pod; each strategy has a favourite.
func TestStrategiesSteerPods(t *testing.T) {
	for strategy, want := range map[string]string{"most-allocated": "busy", "least-allocated": "idle", "": "busy"} {
		s := newScene(gpuArgs()).node("busy", eightCores).node("idle", eightCores)
		pod := newPod("new", "", "cpu=1")
		pod.Annotations[strategyAnnotation] = strategy
		s.outside(newPod("held", "busy", "cpu=1")).job("job", 0, pod).open(t).allocate()
		if got := s.task("new").NodeName; got != want {
			t.Errorf("%q puts the pod on %q, want %s", strategy, got, want)
		}
	}
}
