// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	upstream "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity"
)

func TestMain(m *testing.M) {
	options.Default()
	metrics.InitKubeSchedulerRelatedMetrics()
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// shape is the size of a generated cluster.
type shape struct {
	queues int // leaf queues
	depth  int // queues above a leaf, root included
	pods   int
}

const (
	nodes      = 5000
	podsPerJob = 10
)

func (s shape) String() string {
	return fmt.Sprintf("queues=%d/depth=%d/pods=%d", s.queues, s.depth, s.pods)
}

// shapes returns a medium shape and variations of it in one number each.
func shapes() []shape {
	middle := shape{queues: 100, depth: 2, pods: 20_000}
	all := []shape{middle}
	for _, queues := range []int{10, 1000} {
		all = append(all, shape{queues, middle.depth, middle.pods})
	}
	for _, depth := range []int{1, 3, 4, 5} {
		all = append(all, shape{middle.queues, depth, middle.pods})
	}
	for _, pods := range []int{50_000, 100_000} {
		all = append(all, shape{middle.queues, middle.depth, pods})
	}
	return all
}

var plugins = map[string]func() framework.PluginBuilder{
	"upstream": func() framework.PluginBuilder { return upstream.New },
	"ours":     func() framework.PluginBuilder { return capacity.New(context.Background()).Builders()[capacity.Name] },
}

// build returns a cluster in which nine of ten jobs run and the others wait.
func build(s shape) *cache.SchedulerCache {
	sc := cache.NewCustomMockSchedulerCache("benchmark", util.NewFakeBinder(0), util.NewFakeEvictor(0), &util.FakeStatusUpdater{}, nil, &record.FakeRecorder{})
	sc.Run(context.Background().Done())
	for i := range nodes {
		_ = sc.AddOrUpdateNode(util.BuildNode(fmt.Sprint("node-", i), api.BuildResourceList("128", "1024Gi",
			api.ScalarResource{Name: "pods", Value: "250"}, api.ScalarResource{Name: "nvidia.com/gpu", Value: "8"}), nil))
	}
	for _, queue := range tree(s) {
		sc.AddQueueV1beta1(queue)
	}
	requests := api.BuildResourceList("1", "4Gi", api.ScalarResource{Name: "nvidia.com/gpu", Value: "0.1"})
	minimum := api.BuildResourceList("10", "40Gi", api.ScalarResource{Name: "nvidia.com/gpu", Value: "1"})
	for j := range s.pods / podsPerJob {
		name, phase := fmt.Sprint("job-", j), schedulingv1beta1.PodGroupRunning
		if j%10 == 0 {
			phase = schedulingv1beta1.PodGroupInqueue
		}
		sc.AddPodGroupV1beta1(util.BuildPodGroupWithMinResources(name, "ns", leaf(j%s.queues), podsPerJob, nil, minimum, phase))
		for p := range podsPerJob {
			node, podPhase := fmt.Sprint("node-", (j*podsPerJob+p)%nodes), corev1.PodRunning
			if phase == schedulingv1beta1.PodGroupInqueue {
				node, podPhase = "", corev1.PodPending
			}
			sc.AddPod(util.BuildPod("ns", fmt.Sprint(name, "-", p), node, podPhase, requests, name, nil, nil))
		}
	}
	sc.AddPodGroupV1beta1(util.BuildPodGroupWithMinResources("small", "ns", leaf(0), 1, nil, api.BuildResourceList("1m", "1Ki"), schedulingv1beta1.PodGroupPending))
	return sc
}

func leaf(i int) string { return fmt.Sprint("leaf-", i) }

// tree returns a chain of queues from root down, with all leaves at its end.
func tree(s shape) []*schedulingv1beta1.Queue {
	all := []*schedulingv1beta1.Queue{util.BuildQueue("root", 1, nil)}
	parent := "root"
	for level := 1; level < s.depth; level++ {
		q := util.BuildQueue(fmt.Sprint("level-", level), 1, nil)
		q.Spec.Parent, parent = parent, q.Name
		all = append(all, q)
	}
	for i := range s.queues {
		q := util.BuildQueueWithResourcesQuantity(leaf(i), api.BuildResourceList("1000", "4000Gi", api.ScalarResource{Name: "nvidia.com/gpu", Value: "100"}),
			api.BuildResourceList("100000", "400000Gi", api.ScalarResource{Name: "nvidia.com/gpu", Value: "10000"}))
		q.Spec.Parent = parent
		all = append(all, q)
	}
	return all
}
